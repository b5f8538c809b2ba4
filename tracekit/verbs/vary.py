"""Which assumptions the order of policies hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracekit.files.places import place
from tracekit.progress import SILENT, Progress
from tracekit.replay.studies.vary import vary_assumptions
from tracekit.study import Study
from tracekit.verbs._study import made


def vary(
    store: str | Path,
    *,
    policies: Sequence[str] = (),
    changes: Sequence[str] = (),
    measure: str = "imbalance_mean",
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Policies under changed assumptions; see ``tracekit.replay.studies.vary``."""
    return made(
        lambda crew: vary_assumptions(
            place(store),
            policies=policies,
            changes=changes,
            measure=measure,
            seed=seed,
            crew=crew,
            progress=progress,
        ),
        out,
        jobs=jobs,
    )
