"""Population searches, which minimise a cost over a box by moving many candidates at once.

This module has the parameters of the study of test functions. It imports nothing heavy, as the help
of the command line reads it.
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
    """Parameters of ``study_functions``, which runs each search on each test function."""

    dimensions: Dimensions = 30
    runs: Runs = 10
    population: Population = 30
    iterations: Iterations = 200
    tolerance: Annotated[
        float, About("The cost at which a run has reached the optimum.", minimum=0)
    ] = 1e-8
    seed: Annotated[int, About("Seed of all runs.", minimum=0)] = 0

    def __post_init__(self) -> None:
        parameters.check_ranges(self)
