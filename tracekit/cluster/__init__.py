"""Workloads: nodes, containers, their sizes, times and use, from any source."""
