"""tracekit placement-bench: the placement experiment of the TBESK paper on drawn data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.cluster.declared import TargetAllocFraction
from tracekit.commands._options import Option, Seed, SideBySide, StudyFolder
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import (
    print_claims,
    print_paragraph,
    print_table,
    right,
)
from tracekit.commands.shell.signature import Call, JsonOption
from tracekit.replay.studies import (
    Batches,
    Containers,
    PlacementStudy,
    Room,
    Sets,
    SolverStudy,
)

if TYPE_CHECKING:
    from tracekit.base.crew import Crew
    from tracekit.base.facts import Fact
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
    """The placement experiment of the TBESK paper; see ``tracekit.replay.studies.placement_study``.

    Returns
    -------
    Study
        The frames of ``study_placement`` and, as ``quality``, that of ``study_solvers``.
    """
    from tracekit.commands._study import made
    from tracekit.policy.parse import parse_policy
    from tracekit.replay.studies.placement_study import study_placement
    from tracekit.replay.studies.solver_study import study_solvers

    study = PlacementStudy(
        sets=sets,
        containers=containers,
        target_alloc_fraction=target_alloc_fraction,
        room=room,
        seed=seed,
    )
    chosen = [parse_policy(text) for text in policies]
    solvers = SolverStudy(batches=batches, seed=seed)

    def both(crew: Crew) -> Study:
        placed = study_placement(study, policies=chosen, crew=crew, progress=progress)
        solved = study_solvers(solvers, progress=progress)
        return replace(
            placed,
            about={**placed.about, "solvers": dict(solved.about)},
            frames={**placed.frames, **solved.frames},
        )

    return made(both, out, jobs=jobs)


PANEL = Panel.rare
_LIMITS = ("imbalance_low", "imbalance_high")


def command(call: Call, out: Path | None, json: JsonOption = False) -> None:
    """Place 1,800 containers on 31 nodes by every policy, many times over.

    Beside it: how close searches, greedy and local search come to the best
    placement of a batch that an integer program finds, and in which time.

    Example: tracekit placement-bench --out placements
    """
    from tracekit.commands._study import print_bench

    names = ("summary", "use", "quality", "facts")
    print_bench(call(), "placement", "placement-bench", names, out, json=json, show=_show)


def _show(study: Study, facts: Sequence[Fact]) -> None:
    frames, about = study.frames, study.about
    timing = dict(frames["timing"].iter_rows())
    print_table(
        f"Imbalance of {counted(about['containers'], 'container')} on"
        f" {counted(about['nodes'], 'node')},"
        f" {about['sets']} drawn sets",
        ["policy", *right("Z", "95 % interval", "pending", "over", "µs")],
        [
            [
                row["policy"],
                f"{row['imbalance']:.4f}",
                "-".join(f"{row[one]:.4f}" for one in _LIMITS if row[one] is not None),
                f"{row['pending']:.1f}",
                f"{row['overfull_nodes']:.1f}",
                f"{1000 * timing[row['policy']]:,.0f}",
            ]
            for row in frames["summary"].iter_rows(named=True)
        ],
        note="Z: imbalance; over: nodes beyond capacity in a resource; µs: per decision",
    )
    print()
    print_claims(facts)
    quality = frames["quality"]
    last = quality.group_by("method", maintain_order=True).last()
    print_table(
        f"One batch of {about['solvers']['batch_size']} placed by several methods",
        ["method", *right("iterations", "gap to the best", "best found", "ms")],
        [
            [method, iterations or "-", f"{gap:.5f}", f"{share:.0%}", f"{spent:.1f}"]
            for method, iterations, gap, _, share, spent in last.iter_rows()
        ],
    )
    if "cwt" in frames["summary"]["policy"]:
        print_paragraph("cwt is our reading of a paper whose formulas are not published.")
