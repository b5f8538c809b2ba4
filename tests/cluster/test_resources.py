"""Amounts of resources as people write them, and reserved parts of nodes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import changed, workload

from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.resources import UNLIMITED, amount_text, held_at_most, reserved_of
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds.measures import bounds_of
from tracekit.replay.engine.engine import Engine


@pytest.mark.parametrize(
    ("amount", "resource", "text"),
    [
        (32_000, "cpu_milli", "32 cores"),
        (2_562, "cpu_milli", "2.562 cores"),
        (131_900_000_000, "memory_bytes", "122.8 GiB"),
        (500, "gpu_milli", "0.5 gpu"),
        (2, "nvidia.com/gpu", "2 nvidia.com/gpu"),
        (110, "pods", "110 pods"),
    ],
)
def test_an_amount_has_the_unit_of_people(amount: int, resource: str, text: str) -> None:
    assert amount_text(amount, resource) == text


#: Two nodes whose background is 10 of CPU and 0, 20, 40 of memory; the second one's is nothing.
BACKGROUND = np.zeros((2, 3, 2), dtype=np.float32)
BACKGROUND[0, :, 0], BACKGROUND[1, :, 0] = 10, [0, 20, 40]
CAPACITY = np.array([[100, 100], [100, 100]])


@pytest.mark.parametrize(
    ("text", "staying"),
    [
        ("background", [10, 20]),
        ("background:memory", [0, 20]),
        ("background:cpu", [10, 0]),
        ("background:p100", [10, 40]),
        ("background:memory:p50", [0, 20]),
        ("background:p95:memory", [0, 38]),
    ],
)
def test_what_is_kept(text: str, staying: list[int]) -> None:
    result = reserved_of(
        text, background=BACKGROUND, capacity=CAPACITY, held=np.zeros((2, 2), np.int64)
    )
    assert result is not None
    assert result.tolist() == [staying, [0, 0]]


def test_no_more_is_kept_than_production_left_and_nothing_of_what_has_no_limit() -> None:
    capacity = np.array([[100, UNLIMITED], [100, 100]])
    held = np.array([[95, 0], [120, 0]])
    result = reserved_of("background", background=BACKGROUND, capacity=capacity, held=held)
    assert result is not None
    assert result.tolist() == [[5, 0], [0, 0]]


@pytest.mark.parametrize("text", ["none", "background:memory"])
def test_nothing_is_kept(text: str) -> None:
    none = np.zeros_like(BACKGROUND)
    held = np.zeros((2, 2), dtype=np.int64)
    assert reserved_of(text, background=none, capacity=CAPACITY, held=held) is None


@given(
    some.lists(
        some.tuples(
            some.integers(-1, 2), some.integers(0, 6), some.integers(1, 5), some.integers(0, 9)
        ),
        max_size=12,
    )
)
def test_the_most_that_was_held_is_that_of_some_moment(rows: list[tuple[int, ...]]) -> None:
    node, arrival, stay, wanted = (
        np.array([row[at] for row in rows], dtype=np.int64) for at in range(4)
    )
    most = held_at_most(node, wanted[:, None], arrival, arrival + stay, nodes=3)
    for at in range(3):
        existing = [
            sum(q for n, a, s, q in rows if n == at and a <= now < a + s) for now in range(12)
        ]
        assert most[at, 0] == max(existing)


def replayed(load: Workload, policy: str) -> list[int]:
    engine = Engine(load, parse_policy(policy), np.random.default_rng(0))
    return [int(node) for node in engine.run().node]


def loaded(**rules: object) -> Workload:
    load = workload(
        [(100, 100)] * 2, [(0, 9000, 10, 45)] * 3, steps=3, background=BACKGROUND, used_share=1.0
    )
    nodes = dataclasses.replace(load.nodes, reserved=np.array([[0, 20], [0, 0]]))
    ruled = dataclasses.replace(load.rules, **rules)  # type: ignore[arg-type]
    return dataclasses.replace(load, nodes=nodes, rules=ruled)


def test_who_goes_by_requests_has_the_rest_and_what_is_reserved_stays_reserved() -> None:
    load = loaded()
    assert replayed(load, "first_fit") == [0, 1, 1]
    assert replayed(changed(load, nodes={"reserved": None}), "first_fit") == [0, 0, 1]
    other = on_nodes(load, np.array([1]))
    assert other.nodes.reserved is not None
    assert other.nodes.reserved.tolist() == [[0, 20]]
    assert bounds_of(load).rows[0]["nodes_used"] == 2


def test_what_was_observed_stays_where_it_is_though_too_little_is_left() -> None:
    load = loaded(pinned=np.array([0, 0, -1]))
    assert replayed(load, "first_fit") == [0, 0, 1]
