"""What `tracekit replay` prints below its table."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tracekit.cli.replay import _lost_theirs, counted_from
from tracekit.replay.answer.decision_words import blind_told

EPOCH_MS = 1_767_225_600_000


@pytest.mark.parametrize("start_ms", [0, 30_000, EPOCH_MS])
@pytest.mark.parametrize(
    ("settled_ms", "said"),
    [(0, "the beginning"), (7_199_894, "1 h 59 min 59 s after the beginning")],
)
def test_averages_count_from_a_time_in_words(start_ms: int, settled_ms: int, said: str) -> None:
    load = SimpleNamespace(times_ms=[start_ms, start_ms + 1], settled_ms=start_ms + settled_ms)
    assert counted_from(load) == said


def test_who_decided_before_there_was_use_to_read_is_named() -> None:
    decided = {"first_fit": 0, "cwt": 7, "paragon": 7, "target_load_packing": 3807}
    assert blind_told(decided) == [
        "cwt, paragon read use and decided 7 times before any use had been measured",
        "target_load_packing reads use and decided 3,807 times before any use had been measured",
    ]


LOSSES = [
    ((0, 0), "no container lost its node"),
    ((1, 0), "1 container lost its node and found another"),
    ((4, 4), "4 containers lost their node and found no other"),
    ((4, 1), "4 containers lost their node: 1 found no other, 3 did"),
]


@pytest.mark.parametrize(("counts", "said"), LOSSES)
def test_what_became_of_containers_on_lost_nodes_is_told_once(
    counts: tuple[int, int], said: str
) -> None:
    """A line a policy said "1 containers lost their node, 0 of them found no other"."""
    rows = [
        {"policy": name, "evicted_by_loss": counts[0], "unplaced_after_loss": counts[1]}
        for name in ("a", "b")
    ]
    other = {"policy": "c", "evicted_by_loss": 9, "unplaced_after_loss": 0}
    without = {"policy": "observed", "evicted_by_loss": None, "unplaced_after_loss": None}
    told = _lost_theirs([*rows, other, without])
    assert told == [
        f"under a and b {said}",
        "under c 9 containers lost their node and found another",
    ]
