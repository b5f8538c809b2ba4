"""tracekit synth: write a made-up trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli import _output


def command(
    out: Annotated[Path, typer.Argument(help="Folder to write; new, empty, or made by synth.")],
    preset: Annotated[
        str, typer.Option(help="Size of the trace: tiny, small, medium or ctm21.")
    ] = "small",
    seed: Annotated[int, typer.Option(help="Same preset and seed, same bytes.")] = 0,
    jobs: Annotated[
        int, typer.Option(help="Processes; 0: as many as pay and 2 GiB of memory bear.")
    ] = 0,
    tables: Annotated[
        str | None,
        typer.Option(help="Only these, e.g. node,resource of node, resource, rate, call."),
    ] = None,
    parts: Annotated[str | None, typer.Option(help="Only these archives, e.g. 0-3,7.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a made-up trace in the shape of CTM21, and the truth planted in it.

    An archive is the same whichever others are written: of the preset ctm21,
    as large as the real trace, take some with --tables and --parts.

    Example: tracekit synth demo --preset tiny --seed 1
    """
    import tracekit
    from tracekit import units
    from tracekit.files.parts import parse_parts

    with _output.progress() as progress:
        summary = tracekit.synth(
            out,
            preset=preset,
            seed=seed,
            jobs=jobs,
            tables=[name.strip() for name in tables.split(",")] if tables else (),
            parts=parse_parts(parts),
            progress=progress,
        )
    if json:
        _output.print_json(
            {
                "schema": "tracekit/synth/1",
                "out": summary.out,
                "preset": summary.preset,
                "seed": summary.seed,
                "files": summary.files,
                "rows": summary.rows,
                "defects": summary.defects,
                "size_bytes": summary.size_bytes,
                "truth": summary.truth,
            }
        )
        return
    title = f"{summary.files} archives, {units.size(summary.size_bytes)}, in {summary.out}"
    note = f"planted truth: {summary.truth}\nnext: tracekit ingest {summary.out} STORE"
    _output.print_table(title, ("table", "rows"), list(summary.rows.items()), note=note)
