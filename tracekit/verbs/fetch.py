"""Download the archives of a trace release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import Argument, FolderToFill, Option, names_in

if TYPE_CHECKING:
    from tracekit.intake.fetch.run import FetchSummary


def fetch(
    release: Annotated[
        str, Argument("The trace: ctm21, ctm22, alibaba18, ...", completes="sources")
    ],
    out: FolderToFill,
    *,
    tables: Annotated[
        Sequence[str],
        Option(
            "Tables, e.g. node,resource of node, resource, rate, call.", takes=str, read=names_in
        ),
    ] = (),
    parts: Annotated[str | None, Option("Parts of each table, e.g. 0-3,7.")] = None,
    base_url: Annotated[str | None, Option("A mirror's address instead of the release's.")] = None,
    jobs: Annotated[int, Option("Downloads at a time.", minimum=1, metavar="DOWNLOADS")] = 4,
    timeout_s: Annotated[
        float,
        Option("Seconds of silence that count as a broken line.", minimum=0.1, names="--timeout"),
    ] = 60.0,
    progress: Progress = SILENT,
    **further: Any,
) -> FetchSummary:
    """Download archives of a release; run again to go on."""
    from tracekit.intake.fetch import run

    return run.fetch(
        release,
        out,
        tables=tables,
        parts=parts,
        base_url=base_url,
        jobs=jobs,
        timeout_s=timeout_s,
        progress=progress,
        **further,
    )
