"""Peaks of production that no measure counts are told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from replay_support import STEP_MS, workload

from tracekit.replay.runs.remarks import peaks, unjudged
from tracekit.replay.workload.workload import Workload

HALF = 4
CPU, MEMORY = 0, 1


def load(early: float, late: float, **other: object) -> Workload:
    """Two containers that production ran on two nodes of 100, half of the time unjudged."""
    made = workload([(100, 100)] * 2, [(0, 9000, 10, 10, 0), (2500, 9000, 10, 10, 1)], steps=8)
    usage = np.full((2, 8, 2), 20, dtype=np.float32)
    usage[CPU, :HALF, 1], usage[CPU, HALF:, 1] = early, late
    changed = {
        "usage": usage,
        "settled_ms": HALF * STEP_MS,
        "exchangeable": np.ones(2, bool),
        "assumptions": {"arrival_span_ms": 7200},
        **other,
    }
    return dataclasses.replace(made, **changed)  # type: ignore[arg-type]


def test_a_higher_peak_is_told_with_what_judges_it() -> None:
    assert unjudged(load(97, 58)) == (
        "The first 4 s are not judged, as containers arrive in that time; production's highest CPU"
        " use is 97.0 % there and 58.0 % afterwards. --assume arrival_span_ms=0 judges it, too."
    )


def test_memory_beside_cpu() -> None:
    made = load(97, 58)
    usage = made.usage.copy()
    usage[MEMORY, 1, 0] = 90
    said = unjudged(dataclasses.replace(made, usage=usage))
    assert "highest memory use is 90.0 % there and 20.0 % afterwards" in said
    assert "and its highest" in said


@pytest.mark.parametrize(
    ("early", "late", "other"),
    [
        (58, 58, {}),
        (58.4, 58, {}),
        (50, 97, {}),
        (97, 58, {"settled_ms": 0}),
        (97, 58, {"recorded_node": np.full(2, -1)}),
    ],
)
def test_nothing_is_said_where_later_peaks_are_as_high_or_nothing_is_known(
    early: float, late: float, other: dict[str, object]
) -> None:
    assert unjudged(load(early, late, **other)) == ""


def test_who_came_at_a_recorded_time_counts_from_then_on() -> None:
    recorded = load(97, 58, exchangeable=np.zeros(2, bool))
    assert peaks(recorded, np.arange(2))[CPU] == pytest.approx(0.2)
    assert peaks(recorded, np.arange(HALF))[CPU] == pytest.approx(0.97)
    assert peaks(load(97, 58), np.arange(2))[CPU] == pytest.approx(0.97)
