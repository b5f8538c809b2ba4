"""Population searches on test functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.policy.search.declared import (
    Dimensions,
    FunctionStudy,
    Iterations,
    Population,
    Runs,
)
from tracekit.verbs._options import Option, Seed, SideBySide, StudyFolder

if TYPE_CHECKING:
    from tracekit.base.study import Study


def optimize_bench(
    out: StudyFolder = None,
    *,
    searches: Annotated[
        Sequence[str],
        Option(
            "A search; repeatable. Without it, all.",
            names="--search",
            metavar="NAME[param=value,...]",
            completes="searches",
        ),
    ] = (),
    functions: Annotated[
        Sequence[str],
        Option(
            "A test function; repeatable. Without it, all.",
            names="--function",
            completes="functions",
        ),
    ] = (),
    runs: Runs = FunctionStudy.runs,
    dimensions: Dimensions = FunctionStudy.dimensions,
    population: Population = FunctionStudy.population,
    iterations: Iterations = FunctionStudy.iterations,
    jobs: SideBySide = 1,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Study:
    """Population searches on test functions; see ``tracekit.policy.search.function_study``."""
    from tracekit.policy.search.function_study import study_functions
    from tracekit.verbs._study import made

    study = FunctionStudy(
        dimensions=dimensions, runs=runs, population=population, iterations=iterations, seed=seed
    )
    return made(
        lambda crew: study_functions(
            study, searches=searches, functions=functions, crew=crew, progress=progress
        ),
        out,
        jobs=jobs,
    )
