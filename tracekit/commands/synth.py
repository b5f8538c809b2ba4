"""tracekit synth: write a made-up trace."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.files.replacing import parse_parts
from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.commands._options import Argument, Option, names_in
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_table
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.synth import SynthSummary


def synth(
    out: Annotated[str | Path, Argument("Folder to write; new, empty, or made by synth.")],
    *,
    preset: Annotated[
        str, Option("Size of the trace: tiny, small, medium or ctm21.", completes="presets")
    ] = "small",
    seed: Annotated[int, Option("Same preset and seed, same bytes.")] = 0,
    jobs: Annotated[
        int, Option("Processes; 0: as many as pay and 2 GiB of memory bear.", default=0)
    ] = 1,
    tables: Annotated[
        Sequence[str],
        Option(
            "Only these, e.g. node,resource of node, resource, rate, call, size.",
            takes=str,
            read=names_in,
        ),
    ] = (),
    parts: Annotated[
        Container[int] | None,
        Option("Only these archives, e.g. 0-3,7.", takes=str, read=parse_parts),
    ] = None,
    progress: Progress = SILENT,
) -> SynthSummary:
    """Write a made-up trace with its planted truth; see ``tracekit.synth.write``."""
    from tracekit.synth import write

    return write(
        Path(out),
        preset=preset,
        seed=seed,
        jobs=jobs,
        tables=tables,
        parts=parts,
        progress=progress,
    )


PANEL = Panel.data


def command(call: Call, json: JsonOption = False) -> None:
    """Write a made-up trace in the shape of CTM21, and the truth planted in it.

    An archive does not depend on the others. The preset ctm21 is as large as
    the real trace: take some of its archives by --tables and --parts.

    Example: tracekit synth demo --preset tiny --seed 1
    """
    from tracekit.base import units

    summary = call()
    if json:
        print_json(
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
    title = (
        f"{counted(summary.files, 'archive')}, {units.size(summary.size_bytes)}, in {summary.out}"
    )
    note = f"planted truth: {summary.truth}\nnext: tracekit ingest {summary.out} STORE"
    print_table(title, ("table", "rows"), list(summary.rows.items()), note=note)
