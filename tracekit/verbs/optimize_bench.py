"""Population searches on test functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracekit.progress import SILENT, Progress
from tracekit.replay.optimize.function_study import FunctionStudy, study_functions
from tracekit.study import Study
from tracekit.verbs._study import made


def optimize_bench(
    out: str | Path | None = None,
    *,
    study: FunctionStudy | None = None,
    searches: Sequence[str] = (),
    functions: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = SILENT,
) -> Study:
    """Population searches on test functions; see ``tracekit.replay.optimize.function_study``."""
    return made(
        lambda crew: study_functions(
            study, searches=searches, functions=functions, crew=crew, progress=progress
        ),
        out,
        jobs=jobs,
    )
