"""Measures of the use of nodes: how full they are, how evenly, overload, and stranded room."""

import numpy as np

from tracekit.analysis.metrics.load import (
    debris_rate,
    imbalance,
    overload,
    spread,
    utilization_difference,
)
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.replay.measures import DEMAND, FURTHER, Measure, Step
from tracekit.replay.measures.sampled import NodeContents, Sampled

#: The end of the formula of every measure over all nodes.
EMPTY = "; a node that is lost, or not yet there, counts as an empty one"
#: Why load that lies evenly is better.
EVEN = "load that is spread leaves every node the same room for a peak"

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
    ),
    over_steps="max",
    bound="any",
    short="{resource} max",
)

#: The percentile over nodes.
PERCENT = 99


def rank_of(nodes: int) -> int:
    """Return the position, from 0, of the 99th percentile (nearest rank) among sorted nodes."""
    return -(-PERCENT * nodes // 100) - 1


def _p99_fraction(sampled: Sampled) -> FloatArray:
    rank = rank_of(sampled.fractions.shape[1])
    return np.asarray(np.partition(sampled.by_resource, rank, axis=-1)[..., rank].T)


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
    step=Step(column="p99_fraction", at=_p99_fraction),
    over_steps="max",
    bound="any",
)

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
    short="CPU p99",
    of_run=lambda run: float(run.over_time.cpu_p99.max()),
)

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
    step=Step(column="imbalance_of_all", at=_of_all),
)

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
    ),
    bound="any",
)


# How often and how far nodes need more than they have.

overloaded_node_steps = Measure(
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
    ),
    over_steps="sum",
    bound="any",
    short="over",
)

overload_node_steps = Measure(
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

overload_mean_fraction = Measure(
    title="{resource} overload",
    meaning="use beyond what its node has, as a share of the {resource} of all nodes, mean over"
    " time",
    formula="sum over nodes of the {resource} use above capacity, over the {resource} of all"
    " nodes; mean over steps" + EMPTY,
    group="resource",
    unit="0..1",
    better="low",
    because="it is load that was not served",
    order=58,
    per_resource=True,
    step=Step(
        column="overload_fraction", at=lambda sampled: overload(sampled.used, sampled.capacity)
    ),
)


def _above_ceiling_node_steps(sampled: Sampled) -> IntArray:
    ceiling = sampled.load.rules.ceiling
    cpu, memory = sampled.by_resource
    above = (cpu > ceiling.cpu_fraction) | (memory > ceiling.memory_fraction)
    return np.asarray(above.sum(axis=-1))


above_ceiling_node_steps = Measure(
    title="Node-steps above the ceiling",
    meaning="how often a node used more of its CPU or memory than the ceiling allows",
    formula="number of pairs of node and step at which use over capacity is above"
    " ceiling_cpu_fraction or ceiling_memory_fraction",
    group="answer",
    unit="node-steps",
    better="low",
    because="a node above the ceiling has no room for a peak",
    order=11,
    step=Step(
        column="above_ceiling_nodes",
        at=_above_ceiling_node_steps,
        whole=True,
    ),
    over_steps="sum",
)


def served_share(served: IntArray, placed: IntArray) -> FloatArray:
    """Return the share of running containers that are served, (steps,); NaN where none runs.

    A container counts as served if its node is not overloaded. ``served`` and ``placed`` are the
    numbers of served and of running containers at each step.
    """
    nobody = np.full(len(placed), np.nan)
    return np.asarray(np.divide(served, placed, out=nobody, where=placed > 0))


def _qos_share(sampled: Sampled) -> FloatArray:
    counts = sampled.containers
    return served_share((counts * ~sampled.overloaded).sum(axis=-1), counts.sum(axis=-1))


qos_share = Measure(
    title="QoS share",
    meaning="share of containers on nodes that have enough for all they hold, mean over time",
    formula="containers on nodes without overload over all containers that run; mean over steps",
    group="answer",
    unit="0..1",
    better="high",
    because="a container counts that gets what it needs",
    order=40,
    step=Step(column="qos_share", at=_qos_share),
)


# What requests leave of nodes, and what nothing fits into.


def _allocated_share(contents: NodeContents) -> FloatArray:
    return np.asarray(contents.taken.sum(axis=-1) / contents.room.capacity.sum(axis=-1))


allocated_share = Measure(
    title="Allocated {resource}",
    meaning="share of the {resource} that requests may take on all nodes (what is reserved is left"
    " out) that containers request, mean over time",
    formula="sum of the {resource} requests of containers that run over what requests may take"
    " of the {resource} of all nodes; mean over steps" + EMPTY,
    group="resource",
    unit="0..1",
    better=None,
    because="who leaves nobody waiting has the same as everybody",
    order=56,
    per_resource=True,
    step=Step(column="allocated_share", of_contents=_allocated_share),
)


def _stranded_share(contents: NodeContents) -> FloatArray:
    stranded = (contents.free * contents.lost_shares).sum(axis=-1)
    return np.asarray(stranded / contents.room.capacity.sum(axis=-1))


# Fragmentation of Weng et al., USENIX ATC 2023, over containers that the empty node would take.
stranded_share = Measure(
    title="Stranded {resource}",
    meaning="{resource} that nobody requests and that a typical container cannot get, because the"
    " node lacks what else it asks for, or has too little left; mean over time",
    formula="sum over nodes of free {resource} (not reserved) times the share of containers that"
    " do not fit there now, of those that ask for {resource} and would fit on the empty node, over"
    " what requests may take of all nodes; mean over steps" + EMPTY,
    group="answer",
    unit="0..1",
    better="low",
    because="it is paid for, free, and of no use",
    order=24,
    per_resource=True,
    step=Step(column="stranded_share", of_contents=_stranded_share),
)


def _debris_full_fraction(contents: NodeContents) -> FloatArray:
    """The mean debris rate of full nodes at each stretch; NaN where no node is full."""
    rates = np.full(len(contents.full), np.nan)
    for at in np.flatnonzero(contents.full.any(axis=-1)):
        full = np.flatnonzero(contents.full[at])
        capacity = contents.room.capacity[:, full]
        rates[at] = debris_rate(contents.taken[at][:, full].T, capacity.T).mean()
    return rates


# 002 defines D for a host that takes no further task because one of its resources is used up; over
# all nodes it is one less the mean use, which every placement shares. Not compared: in an order of
# arrival in which no node is ever full it is not defined.
debris_full_fraction = Measure(
    title="Debris D of full nodes",
    meaning="share of a node's resources that nobody requests once no typical container fits there"
    " any more, mean over such nodes and time; none where no node is ever full",
    formula="1 less the mean over resources of requests over capacity, on nodes that no typical"
    " container fits though one would if they were empty; mean over nodes and steps",
    group="detail",
    unit="0..1",
    better="low",
    because="what is left on a full node is lost to it",
    order=72,
    step=Step(column="debris_full_fraction", of_contents=_debris_full_fraction),
    compared=False,
)
