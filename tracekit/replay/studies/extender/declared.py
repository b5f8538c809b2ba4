"""What the study of the extender takes: each parameter with its type, meaning, range and default.

Nothing heavy is imported here, since the verb reads it for the command line's help.
"""

from dataclasses import dataclass
from typing import Annotated

from tracekit.base import parameters
from tracekit.base.parameters import About
from tracekit.cluster.declared import TargetAllocFraction

Orders = Annotated[int, About("Orders of arrival.", minimum=1)]
Decisions = Annotated[int, About("Decisions timed in each way.", minimum=1)]


@dataclass(frozen=True, kw_only=True)
class ExtenderStudy:
    """What is replayed: the author's three nodes and nine pods, in many orders of arrival."""

    orders: Orders = 40
    decisions: Decisions = 200
    nodes: Annotated[int, About("Nodes.", minimum=2)] = 3
    containers: Annotated[int, About("Containers.", minimum=1)] = 9
    target_alloc_fraction: TargetAllocFraction = 0.5
    seed: Annotated[int, About("Seed of all of it.", minimum=0)] = 0

    def __post_init__(self) -> None:
        parameters.check_ranges(self)
