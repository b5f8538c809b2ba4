"""Claims of papers, and the values measured here; ``reports/claims.toml`` lists the claims.

``trace`` and ``experiments`` read a number for each claim, with an interval and the number of
samples. ``every`` compares all numbers with the printed ones by one rule.
"""
