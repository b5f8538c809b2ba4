"""What stands beside a count of nodes."""

from __future__ import annotations

import dataclasses

import pytest
from replay_support import workload
from shrink_support import EVEN, shrunk

from tracekit.answer.fewest.words.cautions import (
    left_waiting,
    named,
    nearly_full,
    not_counted,
)
from tracekit.answer.fewest.words.told import short, told
from tracekit.replay.workload.facts_told import set_aside


def test_requests_that_do_not_count_are_named() -> None:
    known = {"requests": "recorded", "requests: gpu_milli": set_aside("gpu=ignore")}
    assert not_counted({"quantities": known}) == (
        " Requests of gpu_milli (gpu=ignore) are not counted: nodes that go may be needed for them."
    )
    assert not not_counted({"quantities": {"requests": "recorded"}})
    assert not not_counted({})


@pytest.mark.parametrize(("many", "who"), [(1, "1 container waits"), (5, "5 containers wait")])
def test_who_waits_in_production_is_not_counted_unless_asked_for(many: int, who: str) -> None:
    said = left_waiting({"containers_left_waiting": many})
    assert said.startswith(f" {who} for a node in production and ")
    assert said.endswith(" not counted: with --assume waiting=place they are.")
    assert not left_waiting({"containers_left_waiting": 0})


@pytest.mark.parametrize(
    ("many", "large", "told"),
    [
        (1, 1, " not counted: it is too large for any node there is."),
        (2, 2, " not counted: they are too large for any node there is."),
        (3, 1, " counted, 1 of them too large for any: with --assume waiting=place they are."),
        (5, 2, " counted, 2 of them too large for any: with --assume waiting=place they are."),
    ],
)
def test_nobody_keeps_nodes_for_who_fits_on_none(many: int, large: int, told: str) -> None:
    known = {"containers_left_waiting": many, "containers_left_waiting_too_large": large}
    assert left_waiting(known).endswith(told)


@pytest.mark.parametrize(
    ("there", "usual", "told"),
    [
        (0.998, 0.9, " Where 99.8 % of a node's memory is in use (in production 90.0 %) a kubelet"),
        (0.95, None, " Where 95.0 % of a node's memory is in use a kubelet"),
        (0.94, 0.9, ""),
        (None, None, ""),
        (1.2, 0.9, ""),
    ],
)
def test_memory_that_is_nearly_full(there: float | None, usual: float | None, told: str) -> None:
    said = nearly_full(there, usual).replace("\u00a0", " ")
    assert said.startswith(told)
    assert bool(said) == bool(told)


@pytest.mark.parametrize(("departures", "told"), [("none", True), ("recorded", False)])
def test_an_assumption_that_keeps_every_container_stands_in_the_answer(
    departures: str, *, told: bool
) -> None:
    """openb had 856 nodes or 9, and nothing said that no pod ever leaves in the first."""
    load = dataclasses.replace(EVEN, assumptions={"departures": departures})
    said = short(shrunk(load))
    assert ("No container leaves here (assumed: departures=none)" in said) == told


@pytest.mark.parametrize(("use", "told"), [("assumed", False), ("recorded", True)])
def test_no_kubelet_evicts_for_what_is_only_requested(use: str, *, told: bool) -> None:
    full = workload([(1000, 100)] * 8, [(0, 9000, 10, 25)] * 16, used_share=1.0)
    load = dataclasses.replace(full, quantities={"use of containers": use})
    assert ("100.0 % of its memory" in short(shrunk(load)).replace("\u00a0", " ")) == told


STICK = "0.5*tbesk_exact+0.5*best_fit"
SAID = f"{STICK} (a yardstick, which no scheduler runs)"


def test_a_yardstick_is_marked_and_the_answer_is_of_another() -> None:
    alone = shrunk(EVEN, policies=[STICK])
    assert alone.about["yardsticks"] == [STICK]
    assert f" enough for {SAID} in one order" in short(alone)
    both = shrunk(EVEN, policies=[STICK, "worst_fit"])
    found = told(both)
    assert found is not None
    assert found.best["policy"] == "worst_fit"
    assert named(both.about, "worst_fit") == "worst_fit"
