"""The fullest that any node ever was."""

from tracekit.replay.measures import Measure, Step

MEASURE = Measure(
    title="Highest {resource} use",
    meaning="the fullest any node was at a sample from when the cluster was filled on: what its"
    " containers, daemons and background use, over all that it has, reserved or not",
    formula="largest {resource} use over capacity of any node at any settled step",
    group="answer",
    unit="0..1",
    better="low",
    because="the fullest node is the first to slow down what it holds",
    order=20,
    per_resource=True,
    step=Step(
        column="max_fraction",
        at=lambda sampled: sampled.by_resource.max(axis=-1).T,
        drawn="{resource} of the fullest node [%]",
    ),
    over_steps="max",
    bound="any",
    spoken=True,
    short="{resource} max",
)
