"""Chance: intervals of means, tests of many differences at once, and the least that counts."""
