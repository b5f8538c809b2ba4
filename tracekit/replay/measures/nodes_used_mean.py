"""The nodes that hold a container, on average over time."""

from tracekit.replay.measures._common import of_nodes_used

MEASURE = of_nodes_used(
    title="Nodes used",
    meaning="nodes that hold a container, mean over time, daemons not counted. It does not say how"
    " many can go: tracekit nodes does",
    formula="number of nodes with at least one container; mean over steps",
    group="answer",
    order=14,
    over_steps="mean",
    bound="requests",
    spoken=True,
    short="nodes",
)
