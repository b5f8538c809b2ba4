"""Names beside marks: none covers a mark or another name, and who must have one has it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as some
from hypothesis import strategies as st

from tracekit.report.plot import Label, _box, evenly, highest, placed

WIDTH_PX, HEIGHT_PX = 560, 340


def _room(label: Label, drawn: dict[str, Any]) -> tuple[float, float, float, float]:
    at = label.x * WIDTH_PX, (1 - label.y) * HEIGHT_PX
    return _box(label, at, (drawn["xanchor"], drawn["ax"], drawn["ay"]))


def _twice(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    return max(across, 0) * max(min(one[3], other[3]) - max(one[1], other[1]), 0)


@given(some.integers(0, 2**32 - 1))
def test_nobody_is_covered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = [(float(x), float(y)) for x, y in rng.random((int(rng.integers(1, 12)), 2))]
    labels = [Label(text="n" * int(rng.integers(3, 20)), x=x, y=y) for x, y in at]
    result = placed(labels, at, width_px=WIDTH_PX, height_px=HEIGHT_PX, most=8)
    assert len(result) <= 8
    boxes = [_room(one, drawn) for one, drawn in result]
    assert all(_twice(one, other) == 0 for one, other in combinations(boxes, 2))
    marks = [(x * WIDTH_PX, (1 - y) * HEIGHT_PX) for x, y in at]
    for left, top, right, bottom in boxes:
        assert left >= 0
        assert right <= WIDTH_PX
        assert not any(left < x < right and top < y < bottom for x, y in marks)


def test_who_finds_no_place_is_left_out_unless_it_must_not() -> None:
    long = "n" * 200
    for must in (False, True):
        labels = [Label(text=long, x=0.5, y=0.5, must=must)]
        result = placed(labels, [(0.5, 0.5)], width_px=300, height_px=280, most=4)
        assert bool(result) is must


# Thinned data keeps what a reader looks for.


@given(rows=st.integers(0, 500), most=st.integers(2, 50))
def test_evenly_keeps_the_ends(rows: int, most: int) -> None:
    frame = pl.DataFrame({"at": range(rows)}, schema={"at": pl.Int64})
    names = evenly(frame, most)["at"].to_list()
    assert len(names) == min(rows, most)
    assert names == sorted(set(names))
    assert names[:1] == list(range(rows))[:1]
    assert names[-1:] == list(range(rows))[-1:]


@given(peak=st.integers(0, 9_999), groups=st.integers(1, 8))
def test_a_peak_of_one_sample_stays(peak: int, groups: int) -> None:
    rows = {"group": [f"g{at}" for at in range(groups) for _ in range(10_000)]}
    frame = pl.DataFrame({**rows, "at": [*range(10_000)] * groups}).with_columns(
        value=pl.when(pl.col("at") == peak).then(9.0).otherwise(1.0)
    )
    thinned = highest(frame, "group", "value", 50)
    assert thinned.height == 50 * groups
    assert thinned.filter(value=9.0)["at"].to_list() == [peak] * groups
