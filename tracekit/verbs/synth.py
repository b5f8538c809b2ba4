"""Write a made-up trace."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.files.parts import parse_parts
from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import Argument, Option, names_in

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
