"""Thinned data keeps what a reader looks for."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tracekit.report.drawing.plot import evenly, highest


@given(rows=st.integers(0, 500), most=st.integers(2, 50))
def test_evenly_keeps_the_ends(rows: int, most: int) -> None:
    frame = pl.DataFrame({"at": range(rows)}, schema={"at": pl.Int64})
    kept = evenly(frame, most)["at"].to_list()
    assert len(kept) == min(rows, most)
    assert kept == sorted(set(kept))
    assert kept[:1] == list(range(rows))[:1]
    assert kept[-1:] == list(range(rows))[-1:]


@given(peak=st.integers(0, 9_999), groups=st.integers(1, 8))
def test_a_peak_of_one_sample_stays(peak: int, groups: int) -> None:
    rows = {"group": [f"g{at}" for at in range(groups) for _ in range(10_000)]}
    frame = pl.DataFrame({**rows, "at": [*range(10_000)] * groups}).with_columns(
        value=pl.when(pl.col("at") == peak).then(9.0).otherwise(1.0)
    )
    thinned = highest(frame, "group", "value", 50)
    assert thinned.height == 50 * groups
    assert thinned.filter(value=9.0)["at"].to_list() == [peak] * groups
