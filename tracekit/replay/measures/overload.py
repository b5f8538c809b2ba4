"""How often and how far nodes need more than they have."""

import numpy as np

from tracekit.analysis.metrics.load import overload
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.view.sampled import Sampled
from tracekit.replay.measures import Measure, Step
from tracekit.replay.measures._common import EMPTY

#: How often a node needed more than it has.
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
        drawn="Overloaded nodes [nodes]",
    ),
    over_steps="sum",
    bound="any",
    short="over",
)

#: How often a node needed more of a resource than it has.
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

#: Use beyond capacity, its mean over the steps.
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


#: How often a node was above the ceiling.
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
        drawn="Nodes above the ceiling [nodes]",
    ),
    over_steps="sum",
)


def served_share(served: IntArray, placed: IntArray) -> FloatArray:
    """Containers served over those that run, NaN where none runs; shape (steps,) each.

    What the sources call QoS is met by a container that gets what it needs (002, section 3); on a
    node that needs more than it has, this project counts none of its containers as served.
    """
    nobody = np.full(len(placed), np.nan)
    return np.asarray(np.divide(served, placed, out=nobody, where=placed > 0))


def _qos_share(sampled: Sampled) -> FloatArray:
    counts = sampled.containers
    return served_share((counts * ~sampled.overloaded).sum(axis=-1), counts.sum(axis=-1))


#: The share of containers that are served, its mean over the steps.
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
