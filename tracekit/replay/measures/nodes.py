"""How many nodes are in use, and what they cost."""

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.policy.view.sampled import Held
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import of_nodes_used

#: The nodes that hold a container, on average over time.
nodes_used_mean = of_nodes_used(
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

#: The most nodes that held a container at any step: what has to be there at the peak.
nodes_used_max = of_nodes_used(
    title="Nodes used at most",
    meaning="most nodes that held a container at any step, daemons not counted: the others are"
    " needed in none; who comes and goes between two steps counts in none either",
    formula="largest number of nodes with at least one container, at any step",
    order=15,
    over_steps="max",
    bound="requests",
)

#: The nodes that hold a container at the end: where a rebalancer that empties nodes arrived.
nodes_used_end = of_nodes_used(
    title="Nodes used at the end",
    meaning="nodes that held a container at the last sample, daemons not counted: where a"
    " rebalancer that empties nodes arrived",
    formula="number of nodes with at least one container, at the last step",
    order=17,
    over_steps="last",
)


def _cost_per_hour(held: Held) -> FloatArray:
    prices = held.load.nodes.prices
    assert prices is not None  # noqa: S101 - the measure needs it
    return np.asarray(np.where(held.containers_but_daemons > 0, prices, 0.0).sum(axis=-1))


#: The cost of the nodes in use, as a mean over the steps.
cost_per_hour = Measure(
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
    step=Step(column="cost_per_hour", held=_cost_per_hour, drawn="Cost [1/h]"),
    needs="nodes.prices",
    bound="requests",
    falls=True,
    spoken=True,
    short="cost/h",
)
