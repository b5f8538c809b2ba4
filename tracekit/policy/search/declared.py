"""What the study of test functions takes: each parameter with its type, meaning, range, default.

Nothing heavy is imported here, since the verb reads it for the command line's help.
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
