"""Write the report of a store, a run or a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import Argument, Option

if TYPE_CHECKING:
    from tracekit.report.render import ReportSummary


def report(
    source: Annotated[
        str | Path,
        Argument(
            "A store, or a folder that replay, a study, size or a bench wrote.",
            metavar="STORE|RUN|STUDY",
            completes="results",
        ),
    ],
    out: Annotated[str | Path, Option("The file to write.", metavar="FILE.html")],
    *,
    studies: Annotated[
        Sequence[str | Path],
        Option("A study folder to show as well; repeatable.", names="--study"),
    ] = (),
    progress: Progress = SILENT,
) -> ReportSummary:
    """Write the report of a store, a run or a study folder; see ``tracekit.report.render``."""
    from tracekit.base.errors import TracekitError

    if not Path(out).absolute().parent.is_dir():
        raise TracekitError(
            f"cannot write the report to {out}: there is no folder {Path(out).parent}",
            hint="make the folder first, or give --out a file in one that is there",
        )
    if not Path(source).exists():
        raise TracekitError(
            f"no such store or run folder: {source}", hint="make one: tracekit ingest SRC STORE"
        )
    # what draws figures takes seconds to load
    from tracekit.report.render import render

    progress.stage("reading what is to be shown", then="pages")
    shown = [Path(one) for one in studies]
    return render(Path(source), Path(out), studies=shown, progress=progress)
