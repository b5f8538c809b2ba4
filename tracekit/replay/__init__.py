"""Replay: put a workload through placement policies and measure what happens."""
