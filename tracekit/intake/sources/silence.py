"""From when on a series of samples counts as silent: a sample holds no longer than until then.

A series is silent when five minutes pass without a sample, as in Prometheus. A series whose samples
are usually further apart is silent only after a longer time.
"""

LEAST_MS = 300_000
#: One sample may be missing: beyond this there are two.
USUAL_DISTANCES = 2.5
#: A series with fewer distances states none that is usual: the most common one of all counts.
ENOUGH_DISTANCES = 3
