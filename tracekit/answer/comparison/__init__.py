"""The comparison of two runs, and of a shadow's record with production."""
