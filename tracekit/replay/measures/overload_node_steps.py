"""How often a node needed more of a resource than it has."""

from tracekit.replay.measures import Measure, Step

MEASURE = Measure(
    title="Node-steps with too little {resource}",
    meaning="how often a node needed more {resource} than it has",
    formula="number of pairs of node and step at which {resource} use exceeds capacity",
    group="resource",
    unit="node-steps",
    better="low",
    because="an overloaded node slows down or evicts what it holds",
    order=60,
    per_resource=True,
    step=Step(
        column="overload_nodes",
        at=lambda sampled: (sampled.by_resource > 1.0).sum(axis=-1).T,
        whole=True,
    ),
    over_steps="sum",
    bound="any",
)
