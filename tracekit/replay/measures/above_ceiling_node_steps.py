"""How often a node was above the ceiling."""

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.measures import Measure, Step
from tracekit.replay.view.sampled import Sampled


def _at(sampled: Sampled) -> IntArray:
    ceiling = sampled.load.ceiling
    cpu, memory = sampled.by_resource
    above = (cpu > ceiling.cpu_fraction) | (memory > ceiling.memory_fraction)
    return np.asarray(above.sum(axis=-1))


MEASURE = Measure(
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
        at=_at,
        whole=True,
        drawn="Nodes above the ceiling [nodes]",
    ),
    over_steps="sum",
)
