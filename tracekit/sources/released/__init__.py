"""Traces that somebody has released, one file each."""
