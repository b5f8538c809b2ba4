"""Requests of containers: recorded, one size for all, inferred, recommended, or from a file."""
