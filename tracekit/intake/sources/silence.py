"""From when on a series of samples counts as silent: what was sampled holds no longer than that.

A series is silent when five minutes pass without a sample, as in Prometheus; but samples that
usually lie further apart are not silent between each other.
"""

LEAST_MS = 300_000
#: One sample may be missing: beyond this there are two.
USUAL_DISTANCES = 2.5
#: A series with fewer distances states none that is usual: the most common one of all counts.
ENOUGH_DISTANCES = 3
