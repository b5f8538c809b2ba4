"""Runs: the replays of all policies, the processes that make them, the run folder, its results."""
