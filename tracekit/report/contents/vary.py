"""What the page on changed assumptions says beside its figure."""

from __future__ import annotations

import polars as pl

from tracekit.replay.studies import vary_told
from tracekit.replay.studies.vary import NAME
from tracekit.report.cells import Table, table
from tracekit.report.contents.first_screen import Answer
from tracekit.report.data import Data


def answer(data: Data) -> Answer:
    """What was asked, what the answer hangs on, how sure, and what to do next."""
    study = data.studies[NAME]
    return Answer(
        asked=vary_told.question(study),
        sentence=vary_told.answer(study),
        told=[f"Not replayed: {said}." for said in vary_told.problems(study)],
        sure=vary_told.sure(study),
        next=vary_told.following(study),
    )


def changes(data: Data) -> Table:
    """Every change, those that turn the answer over first."""
    frame = data.result(f"{NAME}/changes")
    frame = frame.filter(pl.col("problem").is_null()).drop("problem")
    shown = frame.rename({"stands": "answer", "first": "best"})
    return table(shown, "Assumptions that were changed, one at a time")
