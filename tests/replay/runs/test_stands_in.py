"""What is said before an answer about use that is requested."""

from __future__ import annotations

import pytest

from tracekit.replay.runs.stands_in import stands_in

BOTH, CPU, MEMORY = (
    f"containers_with_request_as_{what}use" for what in ("", "cpu_", "memory_")
)  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, ""),
        ({BOTH: 10}, "No use is recorded: where use is spoken of, it is what is requested."),
        ({CPU: 10}, "No CPU use is recorded: where CPU use is spoken of, it is what is requested."),
        ({BOTH: 3, MEMORY: 7},
         ("Of 10 containers 3 have no recorded CPU use and 10 have no recorded memory use: what"
          " they request counts instead.")),
        ({BOTH: 5}, "Of 10 containers 5 have no recorded use: what they request counts instead."),
        ({MEMORY: 4},
         "Of 10 containers 4 have no recorded memory use: what they request counts instead."),
        ({CPU: 5, MEMORY: 5},
         ("Of 10 containers 5 have no recorded CPU use and 5 have no recorded memory use: what they"
          " request counts instead.")),
        ({CPU: 0, MEMORY: 0}, ""),
    ],
)  # fmt: skip
def test_requests_that_count_as_use_are_told_first(facts: dict[str, int], said: str) -> None:
    assert stands_in(facts, 10) == said


def test_few_that_request_hardly_move_a_measure() -> None:
    assert stands_in({BOTH: 1}, 101) == ""
    assert stands_in({BOTH: 1}, 11).startswith("Of 11 containers 1 ")
    assert stands_in({}, 0) == ""


def test_a_source_whose_use_is_assumed_need_not_count_whose() -> None:
    said = "No use is recorded: where use is spoken of, it is what is requested."
    assert stands_in({}, 3, {"use of containers": "assumed"}) == said
    assert stands_in({}, 3, {"use of containers": "recorded"}) == ""


def test_that_use_of_nodes_alone_is_recorded_is_said() -> None:
    """Metrics of nodes without those of pods: that nothing is recorded would be false."""
    said = stands_in({BOTH: 3}, 3, {"use of containers": "assumed", "use of nodes": "recorded"})
    assert said == (
        "No use of containers is recorded: what they request counts instead, and what nodes are"
        " recorded to use is not counted."
    )
