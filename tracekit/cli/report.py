"""tracekit report: one HTML file about a store or a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli._options import JsonOption
from tracekit.cli._output import print_json, print_sentence, progress


def command(
    source: Annotated[
        Path,
        typer.Argument(metavar="STORE|RUN|STUDY", help="A store, or a folder of replay or bench."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="The file to write.")],
    study: Annotated[
        list[Path] | None, typer.Option(help="A study folder to show as well; repeatable.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write one self-contained HTML file that works offline.

    A store gives its quality, zones and utilization; a run folder gives the
    comparison of its policies too, and the store's pages when it is there.
    Studies in the folder 'studies' beside it get their pages as well.

    Example: tracekit report mystore --out report.html
    """
    import tracekit
    from tracekit.units import size

    with progress() as shown:
        summary = tracekit.report(source, out, studies=study or (), progress=shown)
    if json:
        print_json(
            {
                "schema": "tracekit/report/1",
                "out": str(summary.path),
                "size_bytes": summary.size_bytes,
                "findings": list(summary.findings),
            }
        )
        return
    for finding in summary.findings:
        print_sentence(finding)
    print(f"\nreport: {summary.path} ({size(summary.size_bytes)})")
