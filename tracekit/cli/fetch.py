"""tracekit fetch: download the archives of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli._options import JsonOption
from tracekit.cli._output import print_json, print_table, progress


def command(
    release: Annotated[str, typer.Argument(help="The trace release: ctm21 or ctm22.")],
    out: Annotated[Path, typer.Argument(help="Folder to fill; made if it is not there.")],
    tables: Annotated[
        str | None,
        typer.Option(help="Tables, e.g. node,resource of node, resource, rate, call."),
    ] = None,
    parts: Annotated[str | None, typer.Option(help="Parts of each table, e.g. 0-3,7.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="A mirror's address instead of the release's.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Downloads at a time.", min=1)] = 4,
    timeout: Annotated[
        float, typer.Option(help="Seconds of silence that count as a broken line.", min=0.1)
    ] = 60.0,
    json: JsonOption = False,
) -> None:
    """Download the archives of a release; run again to go on where it stopped.

    Broken lines are mended, every archive is checked to its last byte, and
    none gets its final name before it is whole.

    Example: tracekit fetch ctm21 traces --tables node,resource --parts 0-3
    """
    import dataclasses

    import tracekit
    from tracekit import units

    with progress() as shown:
        summary = tracekit.fetch(
            release,
            out,
            tables=[name.strip() for name in tables.split(",")] if tables else (),
            parts=parts,
            base_url=base_url,
            jobs=jobs,
            timeout_s=timeout,
            progress=shown,
        )
    size = sum(file.size_bytes for file in summary.files)
    if json:
        document = {"release": summary.release, "out": str(summary.out), "size_bytes": size}
        files = [dataclasses.asdict(file) for file in summary.files]
        print_json({"schema": "tracekit/fetch/1", **document, "files": files})
        return
    many = f"{len(summary.files)} archive{'s' * (len(summary.files) != 1)}"
    print_table(
        f"{many}, {units.size(size)}, in {summary.out}",
        ["file", "size", "outcome"],
        [[file.path, units.size(file.size_bytes), file.outcome] for file in summary.files],
        note=f"next: tracekit ingest {summary.out} STORE",
    )
