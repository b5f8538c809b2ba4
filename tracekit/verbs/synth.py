"""Write a made-up trace."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from tracekit.progress import SILENT, Progress
from tracekit.synth import SynthSummary, write


def synth(
    out: str | Path,
    *,
    preset: str = "small",
    seed: int = 0,
    jobs: int = 1,
    tables: Sequence[str] = (),
    parts: Container[int] | None = None,
    progress: Progress = SILENT,
) -> SynthSummary:
    """Write a made-up trace with its planted truth; see ``tracekit.synth.write``."""
    return write(
        Path(out),
        preset=preset,
        seed=seed,
        jobs=jobs,
        tables=tables,
        parts=parts,
        progress=progress,
    )
