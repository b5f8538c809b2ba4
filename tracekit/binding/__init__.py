"""Placement down to the vCPU: which host, which socket, which vCPUs, and what that costs all.

Here is the parameter that the command line reads, so this module imports nothing heavy.
"""

from typing import Annotated, Literal

from tracekit.base.parameters import About

RecordedUse = Annotated[
    Literal["auto", "with_neighbours", "without_neighbours"],
    About(
        "Whether recorded use contains the cost of recorded neighbours; if so, that cost is"
        " subtracted first. auto: decided from the data."
    ),
]
RECORDED_USE: RecordedUse = "auto"
