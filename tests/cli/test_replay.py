"""What `tracekit replay` prints below its table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from replay_support import workload

from tracekit.answer.decision_words import blind_told
from tracekit.cli._asked import Asked
from tracekit.cli.replay import command, counted_from
from tracekit.replay.policy.entrant import parse_entrant
from tracekit.replay.runs.run import OBSERVED, replay

EPOCH_MS = 1_767_225_600_000


@pytest.mark.parametrize("start_ms", [0, 30_000, EPOCH_MS])
@pytest.mark.parametrize(
    ("settled_ms", "said"),
    [(0, []), (7_199_894, ["averages from 1 h 59 min 59 s after the beginning on"])],
)
def test_averages_count_from_a_time_in_words(
    start_ms: int, settled_ms: int, said: list[str]
) -> None:
    load = SimpleNamespace(times_ms=[start_ms, start_ms + 1], settled_ms=start_ms + settled_ms)
    assert counted_from(load) == said


def test_who_decided_before_there_was_use_to_read_is_named() -> None:
    decided = {"first_fit": 0, "cwt": 7, "paragon": 7, "target_load_packing": 3807}
    assert blind_told(decided) == [
        "cwt, paragon read use and decided 7 times before any use had been measured",
        "target_load_packing reads use and decided 3,807 times before any use had been measured",
    ]


def test_what_policies_leave_that_production_placed_stands_above_the_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Best fit puts both of 40 on the first node, and one of 60 finds no room beside them."""
    rows = [(0, 9000, 60, 2000, 2)] * 400
    rows += [(0, 9000, some, 10, node) for some in (40, 60) for node in (0, 1)]
    load = workload([(100, 1000), (100, 1000), (24_000, 800_000)], rows)
    run = replay(load, [parse_entrant(name) for name in (OBSERVED, "best_fit")], seed=0)
    command(cast("Asked", lambda: run), Path("out"))
    said, _, table = capsys.readouterr().out.partition("404 containers, 3 nodes")
    assert "best_fit leaves 1 of 404 containers without a node" in " ".join(said.split())
    assert table
