"""The placement experiment of the TBESK paper, and quality against decision time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tracekit.crew import Crew
from tracekit.progress import SILENT, Progress
from tracekit.replay.placement_study import PlacementStudy, study_placement
from tracekit.replay.solver_study import SolverStudy, study_solvers
from tracekit.study import Study
from tracekit.verbs._study import made


def placement_bench(
    out: str | Path | None = None,
    *,
    study: PlacementStudy | None = None,
    solvers: SolverStudy | None = None,
    policies: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = SILENT,
) -> Study:
    """The placement experiment of the TBESK paper; see ``tracekit.replay.placement_study``.

    Returns
    -------
    Study
        The frames of ``study_placement`` and, as ``quality``, that of ``study_solvers``.
    """

    def both(crew: Crew) -> Study:
        placed = study_placement(study, policies=policies, crew=crew, progress=progress)
        solved = study_solvers(solvers, progress=progress)
        return replace(
            placed,
            about={**placed.about, "solvers": dict(solved.about)},
            frames={**placed.frames, **solved.frames},
        )

    return made(both, out, jobs=jobs)
