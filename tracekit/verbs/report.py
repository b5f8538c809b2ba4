"""Write the report of a store, a run or a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracekit.progress import SILENT, Progress
from tracekit.report import ReportSummary, render


def report(
    source: str | Path,
    out: str | Path,
    *,
    studies: Sequence[str | Path] = (),
    progress: Progress = SILENT,
) -> ReportSummary:
    """Write the report of a store, a run or a study folder; see ``tracekit.report.render``."""
    shown = [Path(one) for one in studies]
    return render(Path(source), Path(out), studies=shown, progress=progress)
