"""How many nodes are enough: the study of the fewest nodes within limits."""
