"""The most nodes that held a container at one time; those with nothing but daemons are empty."""

from tracekit.replay.measures import Measure, Step

MEASURE = Measure(
    title="Nodes used",
    meaning="most nodes that held a container at one time, daemons not counted; fewer save nodes,"
    " more spread the load",
    formula="largest number of nodes with at least one container, at any step",
    group="answer",
    unit="nodes",
    better=None,
    because="no policy is better for merely using fewer nodes: they save only where nodes can be"
    " switched off, and the load they hold is denser",
    order=14,
    step=Step(
        column="nodes_used",
        at=lambda sampled: (sampled.containers_but_daemons > 0).sum(axis=-1),
        whole=True,
        drawn="Nodes used [nodes]",
    ),
    over_steps="max",
    bound="requests",
    spoken=True,
    short="nodes",
)
