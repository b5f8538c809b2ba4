"""Quantities as screens show them."""

from __future__ import annotations

import pytest

from tracekit.base.units import duration

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("time_ms", "said"),
    [
        (60, "60 ms"),
        (90_000, "1 min 30 s"),
        (71 * HOUR_MS, "71 h"),
        (72 * HOUR_MS, "3 d"),
        (1823 * HOUR_MS + 60_000, "75 d 23 h"),
    ],
)
def test_a_span_of_time(time_ms: float, said: str) -> None:
    assert duration(time_ms) == said
