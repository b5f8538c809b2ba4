"""The nodes that hold a container at the end: where a rebalancer that empties nodes arrived."""

from tracekit.replay.measures._common import of_nodes_used

MEASURE = of_nodes_used(
    title="Nodes used at the end",
    meaning="nodes that held a container at the last sample, daemons not counted: where a"
    " rebalancer that empties nodes arrived",
    formula="number of nodes with at least one container, at the last step",
    order=17,
    over_steps="last",
)
