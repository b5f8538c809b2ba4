"""Claims of papers beside what comes out here: ``reports/claims.toml`` says what is claimed.

One file for each experiment reads a number for each claim from its frames, with an interval and
the number of samples; ``judge`` holds all of them to what is printed, by one rule.
"""
