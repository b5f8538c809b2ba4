"""A policy's view when it decides: the cluster at a moment, and the container."""
