"""How often a node needed more than it has."""

from tracekit.replay.measures import Measure, Step

MEASURE = Measure(
    title="Overloaded node-steps",
    meaning="how often a node needed more than it has, of CPU, memory, or another resource whose"
    " use is recorded",
    formula="number of pairs of node and step at which use of some resource exceeds capacity",
    group="answer",
    unit="node-steps",
    better="low",
    because="an overloaded node slows down or evicts what it holds",
    order=10,
    step=Step(
        column="overloaded_nodes",
        at=lambda sampled: sampled.overloaded.sum(axis=-1),
        whole=True,
        drawn="Overloaded nodes [nodes]",
    ),
    over_steps="sum",
    bound="any",
    short="over",
)
