"""The parameters of the studies: type, meaning, range and default of each.

This module imports nothing heavy, because the command line reads it for its help.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from tracekit.base import parameters
from tracekit.base.constants import PAPER_ALLOC_FRACTION, PAPER_CONTAINERS, PAPER_NODES
from tracekit.base.parameters import About
from tracekit.cluster.declared import TargetAllocFraction

Sets = Annotated[int, About("Data sets drawn.", minimum=1)]
Containers = Annotated[int, About("Containers of each.", minimum=1)]
Nodes = Annotated[int, About("Nodes of each.", minimum=1)]
Room = Annotated[
    Literal["scored", "all"],
    About("Room must be found in what a policy scores by, or in all resources."),
]
Batches = Annotated[
    int, About("Batches solved to the optimum, spread over the fill of the cluster.", minimum=1)
]
Seed = Annotated[int, About("Seed of all of it.", minimum=0)]


@dataclass(frozen=True, kw_only=True)
class PlacementStudy:
    """The parameters of the placement study, which replays policies on drawn data sets."""

    sets: Sets = 20
    containers: Containers = PAPER_CONTAINERS
    nodes: Nodes = PAPER_NODES
    target_alloc_fraction: TargetAllocFraction = PAPER_ALLOC_FRACTION
    room: Room = "scored"
    seed: Seed = 0

    def __post_init__(self) -> None:
        parameters.check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class SolverStudy:
    """The parameters of the solver study; its workload is drawn as in ``PlacementStudy``."""

    batches: Batches = 12
    batch_size: Annotated[int, About("Containers of each.", minimum=1, maximum=10)] = 8
    containers: Containers = PAPER_CONTAINERS
    nodes: Nodes = PAPER_NODES
    seed: Seed = 0

    def __post_init__(self) -> None:
        parameters.check_ranges(self)


Orders = Annotated[int, About("Orders of arrival.", minimum=1)]
Decisions = Annotated[int, About("Decisions timed in each way.", minimum=1)]


@dataclass(frozen=True, kw_only=True)
class ExtenderStudy:
    """The parameters of the extender study; by default its author's 3 nodes and 9 pods."""

    orders: Orders = 40
    decisions: Decisions = 200
    nodes: Annotated[int, About("Nodes.", minimum=2)] = 3
    containers: Annotated[int, About("Containers.", minimum=1)] = 9
    target_alloc_fraction: TargetAllocFraction = 0.5
    seed: Annotated[int, About("Seed of all of it.", minimum=0)] = 0

    def __post_init__(self) -> None:
        parameters.check_ranges(self)
