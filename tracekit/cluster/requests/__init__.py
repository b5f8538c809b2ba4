"""Requests of containers: recorded, one size for all, inferred, chosen by size, or of a file."""
