"""What a study of the fewest nodes says: the answer, how sure it is, what to do next."""
