"""Replays begun before it is their turn: the same is found, and little is done in vain."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import workload

from tracekit.answer.fewest.search.ahead import Ahead
from tracekit.answer.fewest.search.few_nodes import Ask, Came, Here
from tracekit.answer.fewest.search.fewest import fewest_nodes
from tracekit.answer.fewest.search.limits import parse_limits
from tracekit.arrays import IntArray
from tracekit.errors import TracekitError
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.workload.workload import Workload

BEST_FIT = parse_policy("best_fit")
ORDERS = 3


class Counted:
    """Replays in any thread, which counts them."""

    def __init__(self, load: Workload) -> None:
        self._load, self.times = load, Counter[tuple[int, bytes]]()

    def __call__(self, order: int, kept: IntArray | None) -> Came:
        self.times[order, b"" if kept is None else kept.tobytes()] += 1
        return Here(self._load, BEST_FIT, 0)(order, kept)


def found_by(load: Workload, ask: Ask) -> object:
    limits = parse_limits(["cpu_max_fraction <= 0.8"], ["best_fit"])
    try:
        found = fewest_nodes(load, BEST_FIT, limits, seed=0, repeats=ORDERS, ask=ask)
    except TracekitError as error:
        return str(error)
    rows = [(one.repeat, one.nodes, one.broken, one.row) for one in found.trials]
    return found.nodes, found.place.tolist(), found.by_order, rows


@settings(max_examples=6)
@given(
    sizes=some.lists(some.integers(1, 60), min_size=2, max_size=8),
    nodes=some.integers(2, 6),
    beside=some.integers(1, 5),
)
def test_what_is_found_does_not_hang_on_it(sizes: list[int], nodes: int, beside: int) -> None:
    asked = [(at * 10, 9000, size, 10) for at, size in enumerate(sizes)]
    load = workload([(100, 1000)] * nodes, asked, used_share=0.9)
    counted, plain = Counted(load), Counted(load)
    with ThreadPoolExecutor(beside) as threads:
        ahead = found_by(load, Ahead(counted, threads, beside))
    assert ahead == found_by(load, plain)
    # what was begun and never asked for is the one more
    assert all(times <= plain.times[key] + 1 for key, times in counted.times.items())
    assert counted.times >= plain.times


def test_the_next_orders_are_under_way_while_the_first_is_replayed() -> None:
    load = workload([(100, 1000)] * 4, [(0, 9000, 25, 10)] * 8, used_share=0.9)
    counted = Counted(load)
    with ThreadPoolExecutor(2) as threads:
        ask = Ahead(counted, threads, 2)
        ask.begin(0, np.array([0, 1, 2]))
        ask.begin(1, np.array([0, 1, 2]))
    # both are done, though nobody asked for either
    assert sum(counted.times.values()) == 2
    ask(1, np.array([0, 1, 2]))
    assert sum(counted.times.values()) == 2
    ask(1, np.array([0, 1]))
    assert sum(counted.times.values()) == 3


@pytest.mark.parametrize("order", [0, 3])
def test_an_error_is_raised_where_the_answer_is_asked_for(order: int) -> None:
    def fails(*_: object) -> Came:
        raise TracekitError("no room on this disk")

    with ThreadPoolExecutor(1) as threads:
        ask = Ahead(fails, threads, 1)
        ask.begin(order, None)
        with pytest.raises(TracekitError, match="no room on this disk"):
            ask(order, None)
