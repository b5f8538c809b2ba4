"""tracekit fetch: download the archives of a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.commands._options import Argument, FolderToFill, Option, names_in
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_table
from tracekit.commands.shell.signature import Call, JsonOption

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


PANEL = Panel.data


def command(call: Call, json: JsonOption = False) -> None:
    """Download the archives of a release; run again to go on where it stopped.

    Broken lines are mended, every archive is checked to its last byte, and
    none gets its final name before it is whole. Your own cluster comes by
    tracekit fetch kubernetes and tracekit fetch prometheus.

    Example: tracekit fetch ctm21 traces --tables node,resource --parts 0-3
    """
    import dataclasses

    from tracekit.base import units

    summary = call()
    size = sum(file.size_bytes for file in summary.files)
    if json:
        document = {"release": summary.release, "out": str(summary.out), "size_bytes": size}
        files = [dataclasses.asdict(file) for file in summary.files]
        print_json({"schema": "tracekit/fetch/1", **document, "files": files})
        return
    many = counted(len(summary.files), "archive")
    print_table(
        f"{many}, {units.size(size)}, in {summary.out}",
        ["file", "size", "outcome"],
        [[file.path, units.size(file.size_bytes), file.outcome] for file in summary.files],
        note=f"next: tracekit ingest {summary.out} STORE",
    )
