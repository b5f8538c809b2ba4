"""Thinned data keeps what a reader looks for."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.report.drawing.plot import evenly, lines, whisker


@given(rows=st.integers(0, 500), most=st.integers(2, 50))
def test_evenly_keeps_the_ends(rows: int, most: int) -> None:
    frame = pl.DataFrame({"at": range(rows)}, schema={"at": pl.Int64})
    kept = evenly(frame, most)["at"].to_list()
    assert len(kept) == min(rows, most)
    assert kept == sorted(set(kept))
    assert kept[:1] == list(range(rows))[:1]
    assert kept[-1:] == list(range(rows))[-1:]


@settings(deadline=None, max_examples=20)
@given(peak=st.integers(0, 9_999), groups=st.integers(1, 8))
def test_lines_keep_a_peak_of_one_sample(peak: int, groups: int) -> None:
    parts = [
        pl.DataFrame({"group": [f"g{at}"] * 10_000, "at": range(10_000)}).with_columns(
            value=pl.when(pl.col("at") == peak).then(9.0).otherwise(1.0)
        )
        for at in range(groups)
    ]
    thinned = lines(pl.concat(parts), "group", ["value"])
    assert thinned.height <= 4_000 + 4 * groups
    assert thinned.filter(pl.col("value") == 9)["at"].to_list() == [peak] * groups
    assert thinned["group"].unique(maintain_order=True).to_list() == [
        f"g{at}" for at in range(groups)
    ]
    assert all(part["at"].is_sorted() for part in thinned.partition_by("group"))


def test_short_lines_stay_whole_and_missing_values_are_no_extremes() -> None:
    frame = pl.DataFrame({"group": ["a", "a", "b"], "value": [None, 1.0, 2.0]})
    assert lines(frame, "group", ["value"]).equals(frame)
    long = pl.DataFrame({"group": ["a"] * 3000, "value": [None] * 1500 + [1.0] * 1500})
    assert 1 < lines(long, "group", ["value"]).height < 1000
    nothing = frame.clear()
    assert lines(nothing, "group", ["value"]).is_empty()


def test_a_line_says_an_interval_only_where_there_is_one() -> None:
    assert whisker(2.0, None, None) is None
    assert whisker(2.0, 2.0, 2.0) is None
    drawn = whisker(2.0, 1.5, 3.0)
    assert drawn is not None
    assert (drawn["array"], drawn["arrayminus"]) == ([1.0], [0.5])
