"""Nodes to add where each node has daemons: the answer holds in the orders it was searched in."""

from __future__ import annotations

import dataclasses
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import workload

from tracekit.answer.fewest.search.added import Adding
from tracekit.answer.fewest.search.enough import enough_nodes
from tracekit.answer.fewest.search.found import Fewest
from tracekit.answer.fewest.search.limits import parse_limits
from tracekit.answer.fewest.search.too_few import TooFewError
from tracekit.errors import TracekitError
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.one import in_order, replay_one
from tracekit.replay.workload.changed.more_nodes import like_nodes, with_more
from tracekit.replay.workload.changed.multiplied import multiplied
from tracekit.replay.workload.changed.on_nodes import on_nodes
from tracekit.replay.workload.workload import Workload
from tracekit.seeds import order_seed, stream

SEED, ORDERS = 3, 3
SHAPES = [(60, 100), (100, 60), (60, 100)]

rows_of = some.lists(
    some.tuples(some.sampled_from([0, 1000, 2000]), some.integers(5, 45), some.integers(5, 45)),
    min_size=4,
    max_size=8,
)


def with_daemons(rows: list[tuple[int, int, int]], daemons: list[bool]) -> Workload:
    """Three nodes of two shapes, some with a daemon; all others may come in any order."""
    on = np.flatnonzero(daemons)
    own = [(0, 9000, 5, 5)] * len(on)
    asked = [*own, *sorted((at, 9000, cpu, memory) for at, cpu, memory in rows)]
    load = workload(SHAPES, asked)
    others = len(rows)
    return dataclasses.replace(
        load,
        usage=np.repeat(load.request.T[:, None], 4, axis=1).astype(np.float32),
        daemon=np.array([True] * len(on) + [False] * others),
        pinned=np.array([*on.tolist(), *[-1] * others], dtype=np.int64),
        exchangeable=np.array([False] * len(on) + [True] * others),
    )


@pytest.mark.slow
@settings(max_examples=20)
@given(
    rows_of,
    some.lists(some.booleans(), min_size=3, max_size=3),
    some.sampled_from(["first_fit", "worst_fit", "least_allocated"]),
    some.sampled_from(["1", "1.7", "2.6"]),
)
def test_the_answer_holds_in_the_same_orders(
    rows: list[tuple[int, int, int]], daemons: list[bool], name: str, scale: str
) -> None:
    """The nodes of the answer, made anew, meet the orders of their own daemons alone."""
    load = multiplied(with_daemons(rows, daemons), Fraction(scale), stream(0, "replicas"))
    policy, limits = parse_policy(name), parse_limits([], [name])
    try:
        found = enough_nodes(load, policy, limits, seed=SEED, repeats=ORDERS)
    except TracekitError as error:
        said = re.findall(r"all ([\d,]+) nodes", error.what)
        assert set(said) <= {str(load.nodes)}  # never of nodes that nobody has
        return
    kept = np.sort(found.place[: found.nodes])
    made = on_nodes(with_more(load, found.like), kept)
    for order in range(ORDERS):
        seed = order_seed(SEED, order)
        row = replay_one(in_order(made, seed) if order else made, policy, seed).row
        assert (row["pending"], row["pending_container_steps"]) == (0, 0)


@given(
    rows_of,
    some.lists(some.booleans(), min_size=3, max_size=3),
    some.lists(some.integers(0, 2), max_size=5),
    some.integers(1, 5),
)
def test_an_order_is_the_same_on_more_nodes_and_on_fewer(
    rows: list[tuple[int, int, int]], daemons: list[bool], like: list[int], seed: int
) -> None:
    load = with_daemons(rows, daemons)
    bare = with_daemons(rows, [False] * 3)
    more = with_more(load, np.array(like, dtype=np.int64))
    fewer = on_nodes(load, np.array([1]))

    def others(made: Workload) -> list[tuple[int, ...]]:
        """Who is no daemon, in order of arrival: time, and what is asked for."""
        again = in_order(made, seed)
        assert again.daemon is not None
        at = np.flatnonzero(~again.daemon)
        return [(int(again.arrival_ms[one]), *again.request[one].tolist()) for one in at]

    assert others(load) == others(bare) == others(more) == others(fewer)
    # where nobody is told to be a daemon the order is what it was
    plain = in_order(dataclasses.replace(bare, daemon=None), seed)
    assert others(bare) == list(
        zip(plain.arrival_ms.tolist(), *plain.request.T.tolist(), strict=True)
    )
    # daemons are there before all others
    assert _daemons(in_order(more, seed)) == list(range(len(_daemons(more))))


def _daemons(load: Workload) -> list[int]:
    assert load.daemon is not None
    return np.flatnonzero(load.daemon).tolist()


def test_where_no_other_node_may_go_the_answer_stays() -> None:
    """An error of the search for others spoke of the larger cluster as if it were the user's."""
    load = with_daemons([(0, 50, 40), (0, 40, 50)] * 3, [True] * 3)
    policy, limits = parse_policy("first_fit"), parse_limits([], ["first_fit"])

    def never(larger: Workload, **_: object) -> Fewest:
        raise TooFewError(f"already with all {larger.nodes} nodes some wait")

    adding = Adding(load, policy, limits, "nodes", SEED, ORDERS, never, None)
    like = like_nodes(load, 6)
    found = adding.least(like, adding.begin(like))
    assert found is not None
    assert found.nodes == load.nodes + len(found.like)
    assert all(one.broken is None for one in found.at(found.nodes))
    # of no node to add none is enough
    none = np.empty(0, dtype=np.int64)
    assert adding.least(none, adding.begin(none)) is None
