"""The table of a study of changed assumptions, as rows of texts.

The command line and notebooks show these; neither makes its own.
"""

import polars as pl

from tracekit.answer.sensitivity.told import outcome, ranks_told
from tracekit.study import Study
from tracekit.words import counted

#: What the columns of the table are called, and what they mean that do not say it.
HEADS = ("changed", "the answer", "agreement", "first by ranks alone")
NOTE = (
    "ranks: by that measure alone, which does not decide the answer; agreement: Kendall's"
    " tau of the ranks with those as assumed, +1 to -1"
)


def caption(study: Study) -> str:
    """What the rows are."""
    many = counted(len(study.about["policies"]), "policy")
    return f"The answer of {many}, and their ranks by {study.about['measure']}"


def rows(study: Study) -> list[tuple[str, ...]]:
    """A row for each change that was replayed, see ``HEADS``; those that turn it over first."""
    changes, told = study.frames["changes"].filter(pl.col("problem").is_null()), ranks_told(study)
    return [
        (
            row["change"],
            outcome(row),
            f"{row['agreement']:+.2f}" if told and row["agreement"] is not None else "-",
            row["first"] or "-",
        )
        for row in changes.to_dicts()
    ]
