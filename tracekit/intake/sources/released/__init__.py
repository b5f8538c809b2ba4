"""Released traces, one file each."""
