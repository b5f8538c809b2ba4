"""How full nodes are, and how evenly."""

import numpy as np

from tracekit.analysis.metrics.load import imbalance, spread, utilization_difference
from tracekit.base.arrays import FloatArray
from tracekit.policy.view.sampled import Sampled
from tracekit.replay.measures import DEMAND, FURTHER, Measure, Step
from tracekit.replay.measures._common import EMPTY, EVEN

#: Mean use over the nodes, its mean over the steps.
mean_fraction = Measure(
    title="Mean {resource} use",
    meaning="use of {resource} over capacity, mean over nodes and time",
    formula="mean over nodes of {resource} use over capacity; mean over steps" + EMPTY,
    group="resource",
    unit="0..1",
    better=None,
    because="on nodes of one size every placement of the same load has the same",
    order=50,
    per_resource=True,
    step=Step(column="mean_fraction", at=lambda sampled: sampled.by_resource.mean(axis=-1).T),
)

#: The fullest that any node ever was.
max_fraction = Measure(
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

#: Of 100 nodes so many count.
PERCENT = 99


def rank_of(nodes: int) -> int:
    """The position of the percentile among so many nodes in order of use."""
    return -(-PERCENT * nodes // 100) - 1


def _p99_fraction(sampled: Sampled) -> FloatArray:
    rank = rank_of(sampled.fractions.shape[1])
    return np.asarray(np.partition(sampled.by_resource, rank, axis=-1)[..., rank].T)


#: The use that 99 of 100 nodes stay at or below, whenever it was highest.
p99_fraction = Measure(
    title="{resource} use, 99th percentile",
    meaning="how full the 99th of 100 nodes was, in order of {resource} use, at its fullest time",
    formula="the smallest {resource} use over capacity that 99 % of the nodes do not exceed at a"
    " step; largest over steps" + EMPTY,
    group="answer",
    unit="0..1",
    better="low",
    because="all but one node in a hundred always keep the rest for a peak",
    order=22,
    per_resource=True,
    step=Step(
        column="p99_fraction", at=_p99_fraction, drawn="{resource} of the 99th of 100 nodes [%]"
    ),
    over_steps="max",
    bound="any",
)

#: The CPU use that the fullest node stays at or below 99 % of the time.
cpu_p99_over_time_fraction = Measure(
    title="CPU use of the fullest node, 99 % of the time",
    meaning="the CPU use that every node stays at or below 99 % of the time",
    formula="for each node the 99th percentile, by nearest rank, of CPU use over capacity over the"
    " settled steps; largest over nodes" + EMPTY,
    group="answer",
    unit="0..1",
    better="low",
    because="the fullest node is the first to slow down what it holds",
    order=21,
    of_run=lambda run: float(run.over_time.cpu_p99.max()),
)

#: Standard deviation of use over the nodes, its mean over the steps.
std_mean_fraction = Measure(
    title="Standard deviation of {resource} use",
    meaning="how far the use of {resource} differs from node to node, mean over time",
    formula="root of the mean over nodes of ({resource} use over capacity - its mean over nodes)"
    " squared; mean over steps" + EMPTY,
    group="resource",
    unit="0..1",
    better="low",
    because=EVEN,
    order=52,
    per_resource=True,
    step=Step(column="std_fraction", at=lambda sampled: sampled.by_resource.std(axis=-1).T),
)

#: Spread over the nodes, its mean over the steps.
spread_mean_fraction = Measure(
    title="Spread of {resource} use",
    meaning="use of the most used node less that of the least used, mean over time",
    formula="largest less smallest {resource} use over capacity of all nodes at a step; mean over"
    " steps" + EMPTY,
    group="resource",
    unit="0..1",
    better="low",
    because=EVEN,
    order=54,
    per_resource=True,
    step=Step(column="spread_fraction", at=lambda sampled: spread(sampled.fractions)),
    bound="any",
)

#: Utilization difference G, its mean over nodes and steps.
utilization_difference_mean_fraction = Measure(
    title="Utilization difference G",
    meaning="distance between CPU and memory use of a node, mean over nodes and time",
    formula="|CPU use - memory use|, each over capacity; mean over nodes and steps" + EMPTY,
    group="detail",
    unit="0..1",
    better="low",
    because="where one resource runs ahead, what is left of the other cannot be used",
    order=74,
    step=Step(
        column="utilization_difference_fraction",
        at=lambda sampled: utilization_difference(
            sampled.fractions[..., 0], sampled.fractions[..., 1]
        ),
    ),
    bound="any",
)


def _of_all(sampled: Sampled) -> FloatArray:
    shares = sampled.of_all
    off = shares - np.nanmean(shares, axis=0)
    return np.asarray(np.sqrt(np.nansum(np.square(off), axis=0)).mean(axis=-1))


#: Imbalance Z over all resources, its mean over nodes and steps.
imbalance_of_all_mean = Measure(
    title="Imbalance Z over all resources",
    meaning="how unevenly the resources that a node has are used, mean over nodes and time",
    formula="root of the sum of (use - the node's mean over its resources) squared, each a share"
    " of capacity; mean over nodes and steps" + EMPTY + DEMAND,
    group="detail",
    unit="0..1",
    better="low",
    because="on a node used evenly no resource is stranded behind another that is used up",
    order=71,
    needs=FURTHER,
    step=Step(column="imbalance_of_all", at=_of_all, drawn="Imbalance Z over all [0..1]"),
)

#: Imbalance Z, its mean over nodes and steps.
imbalance_mean = Measure(
    title="Imbalance Z",
    meaning="how unevenly a node's CPU and memory are used, mean over nodes and time",
    formula="root of the sum of (use - the node's mean over CPU and memory) squared, each a share"
    " of capacity; mean over nodes and steps" + EMPTY,
    group="detail",
    unit="0..1",
    better="low",
    because="on a node used evenly no resource is stranded behind another that is used up",
    order=70,
    step=Step(
        column="imbalance",
        at=lambda sampled: imbalance(sampled.fractions).mean(axis=-1),
        drawn="Imbalance Z [0..1]",
    ),
    bound="any",
    spoken=True,
    short="Z",
)
