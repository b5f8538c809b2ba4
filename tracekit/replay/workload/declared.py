"""Assumptions that every kind of store has: each with its type, meaning and default.

Nothing heavy is imported here, since verbs read it for the command line's help.
"""

from typing import Annotated, Literal

from tracekit.parameters import About

Start = Annotated[
    Literal["empty", "observed"],
    About(
        "empty: everything is placed anew; observed: what ran at the beginning stays on its node, a"
        " policy places what arrives and a rebalancer moves from there."
    ),
]
START: Start = "empty"

TargetAllocFraction = Annotated[
    float, About("Requests over capacity, expected.", minimum=0.01, maximum=1)
]

#: Limit over request, where no limit is recorded.
LIMIT_FACTOR = 1.5
#: Span over which arrives what was there at the beginning.
ARRIVAL_SPAN_MS = 7_200_000
