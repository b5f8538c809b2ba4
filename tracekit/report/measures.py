"""The measures of a replay on the page: which a run has, and how a value is written."""

from __future__ import annotations

import polars as pl

from tracekit.replay.measures import Measure, compared
from tracekit.report.words import number, percent


def text(measure: Measure, value: float | None) -> str:
    """A value as tables show it."""
    if value is None:
        return "\u2013"
    if measure.share:
        return percent(value, 1)
    return f"{value:,}" if isinstance(value, int) else number(value)


def present(summary: pl.DataFrame) -> list[Measure]:
    """The measures that a summary has, in the order of the page."""
    return list(compared(summary.columns).values())
