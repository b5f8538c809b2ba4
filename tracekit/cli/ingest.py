"""tracekit ingest: trace files into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli._options import EngineOption, JsonOption, size_bytes
from tracekit.cli._output import print_json, print_table, progress
from tracekit.cli._streams import visible
from tracekit.files.places import place


def command(
    source: Annotated[
        Path,
        typer.Argument(
            parser=place, metavar="SRC", help="A trace file or folder; an s3:// URL of one."
        ),
    ],
    store: Annotated[
        Path,
        typer.Argument(
            parser=place,
            metavar="STORE",
            help="The store's folder or s3:// URL; made if it is not there.",
        ),
    ],
    release: Annotated[str, typer.Option(help="The trace release: auto, ctm21, ...")] = "auto",
    jobs: Annotated[
        int | None,
        typer.Option(help="Files to work at at once; one per core if not given.", min=1),
    ] = None,
    memory_limit: Annotated[str, typer.Option(help="Memory for everything together.")] = "1GiB",
    max_rejects: Annotated[
        float | None,
        typer.Option(help="Refuse a file with a larger share of broken rows, e.g. 0.01."),
    ] = None,
    engine: EngineOption = None,
    json: JsonOption = False,
) -> None:
    """Take trace files into a store; run again to add files or to resume.

    Archives, CSV and Parquet are told apart by content. Broken rows go to the
    rejects with file, line and reason; see: tracekit check STORE.

    Example: tracekit ingest traces/ mystore --max-rejects 0.01
    """
    import tracekit

    with progress() as shown:
        summary = tracekit.ingest(
            source,
            store,
            release=release,
            jobs=jobs,
            memory_limit_bytes=size_bytes(memory_limit),
            max_rejects_fraction=max_rejects,
            engine=engine,
            progress=shown,
        )
    if json:
        print_json({"schema": "tracekit/ingest/1", **_document(summary)})
        return
    rows = [
        [entry.file, entry.table, entry.rows, entry.rejected, entry.duplicates_dropped]
        for entry in summary.ingested
    ]
    if rows:
        print_table(
            f"Ingested into {store}", ["file", "table", "rows", "rejected", "duplicates"], rows
        )
    for name in summary.mended:
        print(f"{name}: what was stored of it was damaged, and is mended")
    for name, same in summary.known:
        print(visible(f"{name}: already in the store{'' if name == same else f' as {same}'}"))
    for name, reason in summary.passed_over:
        what = reason if reason.startswith("is ") else "not a trace table"
        print(visible(f"{name}: {what}, passed over"))


def _document(summary: object) -> dict[str, object]:
    import dataclasses

    from tracekit.ingest import IngestSummary

    assert isinstance(summary, IngestSummary)  # noqa: S101 - narrows the lazily imported type
    return {
        "store": str(summary.store),
        "ingested": [dataclasses.asdict(entry) for entry in summary.ingested],
        "known": [{"file": name, "same_as": same} for name, same in summary.known],
        "mended": list(summary.mended),
        "passed_over": [{"file": n, "reason": reason} for n, reason in summary.passed_over],
    }
