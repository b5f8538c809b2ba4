"""What a replay down to the vCPU takes: each with its type, meaning and default.

Nothing heavy is imported here, since the verb reads it for the command line's help.
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
