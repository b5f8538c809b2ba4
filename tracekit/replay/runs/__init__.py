"""Runs: replays of every policy, who does them, their folder and what is read out of it."""
