"""How much is chance: intervals of means, comparisons of many at once, and what counts at all."""
