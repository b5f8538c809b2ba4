"""What stands on each page of a report."""
