"""What the page on two compared runs says."""

from __future__ import annotations

import polars as pl

from tracekit.report.cells import Table, table
from tracekit.report.data import Data
from tracekit.report.words import count, listed

_STUDY = "comparison"


def lead(data: Data) -> str:
    """What was compared, and how much of it changed."""
    about = data.studies[_STUDY].about
    changes = data.result(f"{_STUDY}/changes")
    verdicts = changes["verdict"].to_list()
    told = [
        f"{verdicts.count(word)} {said}"
        for word, said in (
            ("better", "better"),
            ("worse", "worse"),
            ("changed", "changed, which is neither"),
            ("within chance", "within chance"),
            ("same", "the same"),
        )
        if word in verdicts
    ]
    return (
        f"From run {about['base']} to run {about['new']}:"
        f" of {count(changes.height, 'measure')} of {count(len(about['policies']), 'policy')}"
        f" {listed(told)}."
    )


def sentences(data: Data) -> list[str]:
    """What differs between the runs beyond their measures, and how sure the changes are."""
    about = data.studies[_STUDY].about
    said = [f"The runs differ in {text}." for text in about["differs"]]
    for what, names in (("base", about["only_base"]), ("new", about["only_new"])):
        if names:
            said.append(f"Only in {about[what]}: {listed(names)}.")
    if data.result(f"{_STUDY}/changes")["change_low"].null_count():
        said.append(
            "Changes without an interval may be chance; with several orders of arrival"
            " (replay with repeat) each has one."
        )
    return said


def thresholds(data: Data) -> Table:
    """Every threshold with its outcome."""
    frame = data.result(f"{_STUDY}/thresholds")
    outcome = (
        pl.when(pl.col("failed"))
        .then(pl.lit("it holds: failed"))
        .otherwise(pl.lit("it does not hold: fine"))
    )
    shown = frame.with_columns(outcome.alias("outcome")).drop("failed")
    return table(shown, "What must not hold, and whether it does")


def changes(data: Data) -> Table:
    """Every change."""
    frame = data.result(f"{_STUDY}/changes").drop("paired", strict=False)
    return table(frame, "Measures of both runs, the change and its 95 % interval")
