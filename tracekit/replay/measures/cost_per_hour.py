"""The cost of the nodes in use, as a mean over the steps."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.measures import Measure, Step
from tracekit.replay.view.sampled import Held


def _held(held: Held) -> FloatArray:
    prices = held.load.prices
    assert prices is not None  # noqa: S101 - the measure needs it
    return np.asarray(np.where(held.containers_but_daemons > 0, prices, 0.0).sum(axis=-1))


MEASURE = Measure(
    title="Cost of nodes in use per hour",
    meaning="prices of the nodes that hold a container, daemons not counted, mean over time; in the"
    " currency of the source",
    formula="sum of price per hour over nodes with at least one container; mean over steps",
    group="answer",
    unit="1/h",
    better=None,
    because="no policy is better for merely using cheaper nodes: they save only where the others"
    " can be switched off",
    order=16,
    step=Step(column="cost_per_hour", held=_held, drawn="Cost [1/h]"),
    needs="prices",
    bound="requests",
    falls=True,
    spoken=True,
    short="cost/h",
)
