"""What `tracekit replay` prints below its table."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tracekit.cli.replay import counted_from
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
