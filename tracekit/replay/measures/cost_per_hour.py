"""The cost of the nodes in use, as a mean over the steps."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.measures import Measure, Step
from tracekit.replay.view.sampled import Held


def _held(held: Held) -> FloatArray:
    assert held.load.price_per_hour is not None  # noqa: S101 - the measure needs it
    # the price of a node is asked where it is used, and one that is not known counts as nothing
    price = np.nan_to_num(held.load.price_per_hour)
    return np.asarray(np.where(held.containers_but_daemons > 0, price, 0.0).sum(axis=-1))


MEASURE = Measure(
    title="Cost of nodes in use",
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
    needs="price_per_hour",
    bound="requests",
    spoken=True,
    short="cost/h",
)
