"""What the page on changed assumptions says beside its figure."""

from __future__ import annotations

from tracekit.report.cells import Table, table
from tracekit.report.data import Data


def changes(data: Data) -> Table:
    """Every change, the one that matters most first."""
    frame = data.result("assumptions/changes")
    if "problem" in frame.columns and frame["problem"].null_count() == frame.height:
        frame = frame.drop("problem")
    return table(frame, "Assumptions that were changed, one at a time; least agreement first")
