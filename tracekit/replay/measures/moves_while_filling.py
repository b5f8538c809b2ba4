"""Containers that a rebalancer moved before the cluster was filled."""

from tracekit.replay.measures._common import of_moves

MEASURE = of_moves(
    column="moves",
    during="filling",
    group="detail",
    title="Moves while filling",
    meaning="the moves that were made while the cluster filled; what they bought is in the use of"
    " nodes from then on",
    formula="number of evictions by a rebalancer before the steps over which averages are taken",
    because="each costs a pause in its service; a cluster that runs already has no such phase",
    order=43,
    compared=False,
)
