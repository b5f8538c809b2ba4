"""tracekit synth: write a made-up trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli import _output


def command(
    out: Annotated[Path, typer.Argument(help="Folder to write; new, empty, or made by synth.")],
    preset: Annotated[
        str, typer.Option(help="Size of the trace: tiny, small or medium.")
    ] = "small",
    seed: Annotated[int, typer.Option(help="Same preset and seed, same bytes.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a made-up trace in the shape of CTM21, and the truth planted in it.

    Example: tracekit synth demo --preset tiny --seed 1
    """
    import tracekit
    from tracekit import units

    with _output.progress() as progress:
        summary = tracekit.synth(out, preset=preset, seed=seed, progress=progress)
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
