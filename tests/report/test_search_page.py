"""The sentences on test functions: runs that tell nothing are called so."""

from __future__ import annotations

import polars as pl

from tracekit.report.contents import search
from tracekit.report.data import Data
from tracekit.study import Study


def _said(*verdicts: str) -> list[str]:
    summary = pl.DataFrame({"variant": "original", "tbesk_is": verdicts})
    study = Study(name="search_functions", about={}, frames={"summary": summary})
    data = Data(studies={study.name: study})
    return [text.replace("\u00a0", " ") for text in search.verdicts(data)]


def test_runs_that_do_not_tell_are_said_not_to() -> None:
    assert _said(*["even"] * 20) == [
        (
            "On the original test functions the runs do not tell TBESK from a rival in any of 20"
            " comparisons."
        )
    ]
    assert _said("better", "worse", "worse", "even") == [
        (
            "On the original test functions TBESK is better in 1 and worse in 2 of 4 comparisons"
            " with a rival; in 1 the runs do not tell them apart."
        )
    ]
    assert _said("better") == [
        "On the original test functions TBESK is better in 1 of 1 comparison with a rival."
    ]
