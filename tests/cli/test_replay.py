"""What `tracekit replay` prints below its table."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tracekit.cli.replay import counted_from

EPOCH_MS = 1_767_225_600_000


@pytest.mark.parametrize("start_ms", [0, 30_000, EPOCH_MS])
@pytest.mark.parametrize(
    ("settled_ms", "said"),
    [(0, "the beginning"), (7_199_894, "1 h 59 min 59 s after the beginning")],
)
def test_averages_count_from_a_time_in_words(start_ms: int, settled_ms: int, said: str) -> None:
    load = SimpleNamespace(times_ms=[start_ms, start_ms + 1], settled_ms=start_ms + settled_ms)
    assert counted_from(load) == said
