"""The two studies of population searches from start to end: run, and write the study folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tracekit.progress import SILENT, Progress
from tracekit.replay.optimize.function_study import FunctionStudy, study_functions
from tracekit.replay.placement_study import PlacementStudy, study_placement
from tracekit.replay.solver_study import SolverStudy, study_solvers
from tracekit.store.crew import Alone, Crew, Workers
from tracekit.study import Study, check_study_folder, write_study


def bench_functions(
    out: Path | None = None,
    *,
    study: FunctionStudy | None = None,
    searches: Sequence[str] = (),
    functions: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = SILENT,
) -> Study:
    """The test-function study; written to ``out`` if given.

    Raises
    ------
    TracekitError
        As ``study_functions``, and when ``out`` is something else than a study folder.
    """

    def run(crew: Crew) -> Study:
        return study_functions(
            study, searches=searches, functions=functions, crew=crew, progress=progress
        )

    return _done(run, out, jobs)


def bench_placement(
    out: Path | None = None,
    *,
    study: PlacementStudy | None = None,
    solvers: SolverStudy | None = None,
    policies: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = SILENT,
) -> Study:
    """The placement experiment, and quality against decision time; written to ``out`` if given.

    Returns
    -------
    Study
        The frames of ``study_placement`` and, as ``quality``, that of ``study_solvers``.

    Raises
    ------
    TracekitError
        As ``study_placement``, and when ``out`` is something else than a study folder.
    """

    def run(crew: Crew) -> Study:
        placed = study_placement(study, policies=policies, crew=crew, progress=progress)
        solved = study_solvers(solvers, progress=progress)
        return replace(
            placed,
            about={**placed.about, "solvers": dict(solved.about)},
            frames={**placed.frames, **solved.frames},
        )

    return _done(run, out, jobs)


def _done(run: Callable[[Crew], Study], out: Path | None, jobs: int) -> Study:
    if out is not None:
        check_study_folder(out)
    crew: Crew = Workers(jobs) if jobs > 1 else Alone()
    try:
        study = run(crew)
    finally:
        crew.close()
    if out is not None:
        write_study(study, out)
    return study
