"""A parameter of a replay on vCPUs, with description and default.

This module imports nothing heavy, as the help of the command line reads it.
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
