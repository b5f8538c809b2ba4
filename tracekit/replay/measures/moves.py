"""Containers that a rebalancer moved."""

from tracekit.replay.measures._common import of_moves

MEASURE = of_moves(
    column="moves",
    title="Moves",
    meaning="containers that a rebalancer took off their node to be placed anew, over the whole"
    " run: while the cluster filled and afterwards",
    formula="number of evictions by a rebalancer, each container as often as it was evicted",
    because="each costs a pause in its service; what it buys is in the other measures",
    order=42,
)
