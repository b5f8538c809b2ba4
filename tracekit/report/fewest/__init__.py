"""What studies of the fewest nodes say together; pages and figures ask here."""
