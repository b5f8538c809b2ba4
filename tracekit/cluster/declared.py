"""Assumptions that every kind of store has: each with its type, meaning and default.

Nothing slow is imported here, since the help of commands reads it.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from tracekit.base import parameters
from tracekit.base.parameters import About

Start = Annotated[
    Literal["empty", "observed"],
    About(
        "empty: everything is placed anew; observed: what ran at the beginning stays on its node, a"
        " policy places what arrives and a rebalancer moves from there."
    ),
]
START: Start = "empty"

Resources = Annotated[str, About("The resources that are asked for: all, or names with + between.")]
NodeCpuCores = Annotated[float, About("CPU of a node whose CPU is not recorded.", minimum=1e-3)]
NodeMemoryBytes = Annotated[int, About("Memory of a node whose memory is not recorded.", minimum=1)]
RequestCpuCores = Annotated[
    float,
    About("CPU request of a container of which none is known, or of all (uniform).", minimum=1e-3),
]
RequestMemoryBytes = Annotated[
    int,
    About("Memory request of a container of which none is known, or of all (uniform).", minimum=1),
]

LimitFactor = Annotated[float, About("Limit over request, where no limit is known.", minimum=1)]
LIMIT_FACTOR: LimitFactor = 1.5

TargetAllocFraction = Annotated[
    float, About("Requests over capacity, expected.", minimum=0.01, maximum=1)
]

ArrivalSpanMs = Annotated[
    int,
    About(
        "Containers there at the beginning arrive over this span; at most half of the time.",
        minimum=0,
    ),
]
ARRIVAL_SPAN_MS: ArrivalSpanMs = 7_200_000

UsedShare = Annotated[
    float,
    About("Use over request of a container without recorded use.", minimum=0, maximum=1),
]

StepMs = Annotated[
    int,
    About(
        "Time between two samples; 0: that of the recorded use, or as many times it as leave"
        " 2,880 steps.",
        minimum=0,
    ),
]

#: What stands before the name of a part of the ceiling in the assumption that sets it.
CEILING_PREFIX = "ceiling_"


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """Shares of CPU and memory above which a node is full; raises TracekitError for others."""

    cpu_fraction: Annotated[
        float,
        About(
            "A node is full above this share of its CPU, at the 99th percentile over time.",
            minimum=0.01,
            maximum=1,
        ),
    ] = 0.8
    memory_fraction: Annotated[
        float,
        About(
            "A node is full above this share of its memory, at any time.", minimum=0.01, maximum=1
        ),
    ] = 0.9

    def __post_init__(self) -> None:
        parameters.check_ranges(self)
