"""The placement experiment of the TBESK paper, and quality against decision time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.cluster.declared import TargetAllocFraction
from tracekit.replay.studies.placement.declared import (
    Batches,
    Containers,
    PlacementStudy,
    Room,
    Sets,
    SolverStudy,
)
from tracekit.verbs._options import Option, Seed, SideBySide, StudyFolder

if TYPE_CHECKING:
    from tracekit.base.crew.crew import Crew
    from tracekit.base.study import Study


def placement_bench(
    out: StudyFolder = None,
    *,
    policies: Annotated[
        Sequence[str],
        Option("A policy; repeatable. Without it, all.", names="--policy", completes="policies"),
    ] = (),
    sets: Sets = PlacementStudy.sets,
    containers: Containers = PlacementStudy.containers,
    target_alloc_fraction: Annotated[
        TargetAllocFraction, Option(names="--target")
    ] = PlacementStudy.target_alloc_fraction,
    batches: Batches = SolverStudy.batches,
    jobs: SideBySide = 1,
    room: Room = PlacementStudy.room,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Study:
    """The placement experiment of the TBESK paper; see ``tracekit.replay.studies.placement.study``.

    Returns
    -------
    Study
        The frames of ``study_placement`` and, as ``quality``, that of ``study_solvers``.
    """
    from tracekit.replay.studies.placement.solver_study import study_solvers
    from tracekit.replay.studies.placement.study import study_placement
    from tracekit.verbs._study import made

    study = PlacementStudy(
        sets=sets,
        containers=containers,
        target_alloc_fraction=target_alloc_fraction,
        room=room,
        seed=seed,
    )
    solvers = SolverStudy(batches=batches, seed=seed)

    def both(crew: Crew) -> Study:
        placed = study_placement(study, policies=policies, crew=crew, progress=progress)
        solved = study_solvers(solvers, progress=progress)
        return replace(
            placed,
            about={**placed.about, "solvers": dict(solved.about)},
            frames={**placed.frames, **solved.frames},
        )

    return made(both, out, jobs=jobs)
