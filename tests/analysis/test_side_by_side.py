"""Steps that build on each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from tracekit.analysis.run import side_by_side

AFTER = {"a": (), "b": ("a",), "c": (), "d": ("b", "c"), "e": ("a", "not a step")}


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_each_step_is_done_once_after_those_it_builds_on(lanes: int) -> None:
    done: list[str] = []

    def step(name: str) -> Callable[[], None]:
        def do() -> None:
            assert set(AFTER[name]) & AFTER.keys() <= set(done)
            time.sleep(0.002)
            done.append(name)

        return do

    names = list(side_by_side({name: step(name) for name in AFTER}, AFTER, lanes))
    assert sorted(done) == sorted(names) == sorted(AFTER)
    if lanes == 1:
        assert names == done == list(AFTER)


def test_two_lanes_are_under_way_at_once() -> None:
    met = threading.Barrier(2, timeout=10)

    def meet() -> None:
        met.wait()

    steps = dict.fromkeys(("left", "right"), meet)
    after: dict[str, tuple[str, ...]] = dict.fromkeys(steps, ())
    assert sorted(side_by_side(steps, after, 2)) == ["left", "right"]


@pytest.mark.parametrize("lanes", [1, 2])
def test_what_a_step_raises_ends_it_all(lanes: int) -> None:
    begun: list[str] = []

    def broken() -> None:
        begun.append("a")
        raise ValueError("a is broken")

    steps = {"a": broken, "b": lambda: begun.append("b")}
    with pytest.raises(ValueError, match="a is broken"):
        list(side_by_side(steps, {"a": (), "b": ("a",)}, lanes))
    assert begun == ["a"]
