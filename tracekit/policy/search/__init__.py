"""Population searches: minimise a cost over a box by moving many candidates at once.

A cost takes all candidates in one call. Here stands what the study of test functions takes; nothing
heavy is imported, since the command line's help reads it.
"""

from dataclasses import dataclass
from typing import Annotated

from tracekit.base import parameters
from tracekit.base.parameters import About

Dimensions = Annotated[int, About("Dimensions of the functions.", minimum=1)]
Runs = Annotated[int, About("Independent runs of each.", minimum=1)]
Population = Annotated[int, About("Candidates of each search.", minimum=2)]
Iterations = Annotated[int, About("Iterations of each run.", minimum=1)]


@dataclass(frozen=True, kw_only=True)
class FunctionStudy:
    """What is run."""

    dimensions: Dimensions = 30
    runs: Runs = 10
    population: Population = 30
    iterations: Iterations = 200
    tolerance: Annotated[float, About("A cost up to this has arrived.", minimum=0)] = 1e-8
    seed: Annotated[int, About("Seed of all runs.", minimum=0)] = 0

    def __post_init__(self) -> None:
        parameters.check_ranges(self)
