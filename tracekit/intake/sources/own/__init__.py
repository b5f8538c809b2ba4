"""Formats in which one's own cluster comes, one file each."""
