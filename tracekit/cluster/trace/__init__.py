"""A trace as a workload: the usage tables of a store become matrices, read a piece at a time."""
