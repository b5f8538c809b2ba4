"""Names beside marks: none covers a mark or another name, and who must have one has it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from tracekit.report.drawing.labels import Label, _box, placed

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
    found = placed(labels, at, width_px=WIDTH_PX, height_px=HEIGHT_PX, most=8)
    assert len(found) <= 8
    boxes = [_room(one, drawn) for one, drawn in found]
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
        found = placed(labels, [(0.5, 0.5)], width_px=300, height_px=280, most=4)
        assert bool(found) is must
