"""Nodes of two types that are sold, a few special ones, and how busy each is."""

from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.synth import shapes
from tracekit.synth.presets import Preset
from tracekit.synth.seeds import Seeds
from tracekit.synth.sizes import CPU, MEMORY, NodeShape, NodeSizes, capacities

#: A node is full at this part of its CPU as 99th percentile over time, and of its memory.
CEILING_CPU_FRACTION, CEILING_MEMORY_FRACTION = 0.80, 0.90


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of node: what it is, how many there are, and how it is used.

    Parameters
    ----------
    share : float
        Its part of all nodes.
    containers, most_containers : float, int
        How many a node has, usually and at most.
    others_cpu : float
        The part of its CPU that is used beside containers.
    cpu : tuple of float
        Mean CPU of the least busy node, of one at ``FEW``, and of the busiest.
    memory : tuple of float
        Mean memory of the emptiest node and of the fullest.
    """

    shape: NodeShape
    share: float
    containers: float
    most_containers: int
    others_cpu: float
    cpu: tuple[float, float, float]
    memory: tuple[float, float]


#: Types and prices on demand of a cloud provider, in USD an hour. Together their nodes have the
#: published quantiles: most are alike, the last few much busier.
SMALL, LARGE, GPU, TAINTED = range(4)
KINDS = (
    Kind(
        shape=NodeShape("m6i.4xlarge", 0, 16, 64, 0.768),
        share=0.681,
        containers=6.6,
        most_containers=10,
        others_cpu=0.49,
        cpu=(0.70, 0.729, 0.80),
        memory=(0.742, 0.781),
    ),
    Kind(
        shape=NodeShape("m6i.24xlarge", 0, 96, 384, 4.608),
        share=0.25,
        containers=9.6,
        most_containers=12,
        others_cpu=0.44,
        cpu=(0.455, 0.60, 0.63),
        memory=(0.70, 0.765),
    ),
    Kind(
        shape=NodeShape("g5.4xlarge", 0, 16, 64, 1.624, gpus=1, taint="nvidia.com/gpu"),
        share=0.038,
        containers=5.5,
        most_containers=10,
        others_cpu=0.42,
        cpu=(0.66, 0.68, 0.68),
        memory=(0.80, 0.838),
    ),
    Kind(
        shape=NodeShape("m6i.4xlarge", 0, 16, 64, 0.768, taint="ingress"),
        share=0.031,
        containers=4.0,
        most_containers=5,
        others_cpu=0.49,
        cpu=(0.66, 0.68, 0.68),
        memory=(0.80, 0.838),
    ),
)
FEW = 0.85
#: CPU and memory of the large nodes that are nearly idle, which have two containers at most.
IDLE, IDLE_CONTAINERS = ((0.08, 0.70), (0.22, 0.15)), 2
#: Mean use that leaves room for peaks below the ceiling.
FULL = (0.66, 0.82)


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """Nodes by the kind of each.

    Parameters
    ----------
    level : float64, shape (nodes, 2)
        Mean CPU and memory, fractions.
    idle : bool, shape (nodes,)
    """

    sizes: NodeSizes
    level: FloatArray
    idle: BoolArray

    def of_kind(self, values: list[float]) -> FloatArray:
        """What is told of kinds, for each node."""
        return np.array(values)[self.sizes.shape]


def draw_nodes(preset: Preset, seeds: Seeds) -> Nodes:
    """Draw the kinds of nodes, and their levels evenly from the ranges of each kind."""
    counts = [round(kind.share * preset.nodes) for kind in KINDS[LARGE:]]
    by_kind = np.repeat(range(len(KINDS)), [preset.nodes - sum(counts), *counts])
    kind: IntArray = seeds.stream("room nodes").permutation(by_kind)
    rng = seeds.stream("room levels")
    level, idle = np.empty((preset.nodes, 2)), np.zeros(preset.nodes, dtype=np.bool_)
    for number, one in enumerate(KINDS):
        of = np.flatnonzero(kind == number)
        level[of, CPU] = np.interp(shapes.strata(rng, len(of)), (0, FEW, 1), one.cpu)
        level[of, MEMORY] = np.interp(shapes.strata(rng, len(of)), (0, 1), one.memory)
    idle[np.flatnonzero(kind == LARGE)[: len(IDLE)]] = True
    level[idle] = IDLE
    shapes_sold = tuple(one.shape for one in KINDS)
    sizes = NodeSizes(kinds=shapes_sold, shape=kind, capacity=capacities(shapes_sold)[kind])
    return Nodes(sizes=sizes, level=level, idle=idle)


def spare_nodes(nodes: Nodes) -> BoolArray:
    """Small nodes that can go, shape (nodes,): what is used fills the others to ``FULL``.

    Those with most memory in use go: what stays is then most alike.
    """
    capacity = nodes.sizes.capacity[:, : MEMORY + 1].astype(np.float64)
    needed = (nodes.level * capacity).sum(axis=0) / FULL
    small = np.flatnonzero(nodes.sizes.shape == SMALL)
    count = int(((capacity.sum(axis=0) - needed) / capacity[small[0]]).min())
    spare = np.zeros(len(capacity), dtype=np.bool_)
    spare[small[np.argsort(-nodes.level[small, MEMORY], kind="stable")[:count]]] = True
    return spare
