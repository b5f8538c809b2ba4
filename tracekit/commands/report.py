"""tracekit report: one HTML file about a store or a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.commands._options import Argument, Option
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_sentence
from tracekit.commands.shell.signature import Call, JsonOption

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
    # the library for figures takes seconds to load
    from tracekit.report.render import render

    progress.stage("reading what is to be shown", then="pages")
    shown = [Path(one) for one in studies]
    return render(Path(source), Path(out), studies=shown, progress=progress)


PANEL = Panel.tell


def command(call: Call, json: JsonOption = False) -> None:
    """Write one self-contained HTML file that works offline.

    A store gives its quality, correlation zones and utilization. A run folder
    gives the comparison of its policies, too, and the pages of its store.
    Studies in the folder 'studies' beside it get pages as well.

    Example: tracekit report mystore --out report.html
    """
    from tracekit.base.units import size
    from tracekit.report.sentences import document, short

    summary = call()
    if json:
        print_json(
            {
                "out": str(summary.path),
                "size_bytes": summary.size_bytes,
                **document(summary.answer),
                "schema": "tracekit/report/1",
                "left_out": list(summary.left_out),
            }
        )
        return
    facts = [one for one in summary.answer.facts if one.weight <= 1]
    for line in (*summary.left_out, *(short(one) for one in facts)):
        print_sentence(line)
    print(f"\nreport: {summary.path} ({size(summary.size_bytes)})")
