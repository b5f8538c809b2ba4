"""Answers of Prometheus: their forms, their series, and counters that become rates."""
