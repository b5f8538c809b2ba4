"""What the page on two compared runs says."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.answer.comparison import words
from tracekit.answer.comparison.compared_run import (
    ALIKE,
    OPEN,
    UNCHANGED,
    outcome_told,
    verdict_told,
    warnings_of,
)
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import find_measure, small
from tracekit.report.cells import Table, table
from tracekit.report.contents.first_screen import Answer
from tracekit.report.data import Data
from tracekit.words import few, listed

STUDY = "comparison"
#: So many names are told, the others are counted.
_SHOWN = 6


def answer(data: Data) -> Answer:
    """What was asked, what changed and what is the same, and what must not have happened."""
    failed = data.result(f"{STUDY}/thresholds").filter("failed")
    warnings = [f"{one}." for one in warnings_of(data.studies[STUDY].about)]
    warnings += [
        f"Failed: {row['threshold']}, under {row['policy']}: it {outcome_told(row)}."
        for row in failed.to_dicts()
    ]
    return Answer(
        asked="What changed from one run to the other, beyond chance?",
        sentence=lead(data),
        warnings=warnings,
        told=[text for text in (same(data), *sentences(data)) if text],
    )


def lead(data: Data) -> str:
    """What was compared, and how much of it changed."""
    return words.lead(data.studies[STUDY])


def differs(data: Data) -> bool:
    """Whether any measure of any policy changed."""
    return words.differs(data.studies[STUDY])


def same(data: Data) -> str:
    """What did not change: policies by all measures, measures under all policies."""
    changes = data.result(f"{STUDY}/changes")
    if not differs(data):
        return ""
    by_policy, by_measure = (_alike(changes, by) for by in ("policy", "measure"))
    titles = [small(one.title) for name in by_measure if (one := find_measure(name)) is not None]
    said = [
        f"{few(by_policy, _SHOWN)}, by every measure" if by_policy else "",
        f"{few(titles, _SHOWN)}, under every policy" if titles else "",
    ]
    told = "; ".join(text for text in said if text)
    how = "The same or alike" if ALIKE in changes["verdict"] else "The same"
    return f"{how} in both runs: {told}." if told else ""


def _alike(changes: pl.DataFrame, by: str) -> list[str]:
    """Policies, or measures, of which no row changed."""
    alike = changes.group_by(by, maintain_order=True).agg(pl.col("verdict").is_in(UNCHANGED).all())
    return alike.filter("verdict")[by].to_list()


def sentences(data: Data) -> list[str]:
    """What differs between the runs beyond their measures, and how sure the changes are."""
    about = data.studies[STUDY].about
    said = [f"{one}." for one in warnings_of(about)]
    if not differing(data).rows:
        # a study of an older version names them in sentences alone
        said += [f"The runs differ in {text}." for text in about["differs"]]
    for what, names in (("base", about["only_base"]), ("new", about["only_new"])):
        if names:
            said.append(f"Only in {about[what]}: {listed(names)}.")
    if differs(data) and data.result(f"{STUDY}/changes")["change_low"].null_count():
        said.append(
            "A change without an interval may be chance. It has one where both runs were replayed"
            f" with {FEWEST} orders of arrival or more (--repeat {FEWEST})."
        )
    return said


def differing(data: Data) -> Table:
    """Settings of the runs that are not the same."""
    frame = data.result(f"{STUDY}/settings")
    return table(frame, "Settings that differ between the runs")


def thresholds(data: Data) -> Table:
    """Every threshold with its outcome."""
    frame = data.result(f"{STUDY}/thresholds")
    rows = frame.to_dicts()
    told = [f"{_word(row)}: it {outcome_told(row)}{_of_orders(row)}" for row in rows]
    held = [
        {**found, "base": None} if words.of_another(row) else found
        for row in rows
        for found in (words.judged(row),)
    ]
    shown = frame.with_columns(
        pl.Series("outcome", told, pl.String),
        *(pl.Series(run, [row[run] for row in held], pl.Float64) for run in ("base", "new")),
    )
    hidden = (
        "failed",
        "judged",
        "orders",
        "new_worst",
        "base_judged",
        "base_worst",
        "base_measure",
    )
    shown = shown.drop(*hidden, strict=False)
    return table(shown, "What must not happen, and whether it did")


def _of_orders(row: Mapping[str, Any]) -> str:
    """What the measure came to at the mean of the orders, and in the worst."""
    said = words.over_orders(row)
    new = "" if said == words.value(row, "new") else f" ({said})"
    # the column of the base is of the threshold's own measure
    return f"{new}; in the base {words.base_told(row)}" if words.of_another(row) else new


def _word(row: Mapping[str, Any]) -> str:
    if row.get("outcome") in OPEN:
        return "open"
    return "failed" if row["failed"] else "fine"


def changes(data: Data) -> Table:
    """Every change."""
    frame, about = data.result(f"{STUDY}/changes"), data.studies[STUDY].about
    verdicts = [verdict_told(row, about) for row in frame.iter_rows(named=True)]
    frame = frame.with_columns(pl.Series("verdict", verdicts, pl.String))
    frame = frame.drop("paired", "orders", "placed_change", strict=False)
    return table(frame, "Measures of both runs, the change and its 95 % interval")
