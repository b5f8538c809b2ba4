"""The bound by pools of nodes, against every placement of a few containers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import changed, workload

from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.workload import Workload
from tracekit.replay.bounds.measures import bounds_of
from tracekit.replay.bounds.requests import pool_bounds, pool_costs


def _only_on(load: Workload, masks: np.ndarray) -> Workload:
    """Each container on the nodes of its row alone."""
    parts = (Allowed(label="selector", of=np.arange(load.containers.count), mask=masks),)
    return changed(load, rules={"constraints": Constraints(parts=parts)})


@some.composite
def pooled(draw: some.DrawFn) -> tuple[Workload, np.ndarray]:
    """Up to four nodes and four containers, each of which has some nodes open."""
    rng = np.random.default_rng(draw(some.integers(0, 2**32)))
    nodes, rows = draw(some.integers(1, 4)), draw(some.integers(1, 4))
    sizes = [tuple(rng.integers(20, 100, 2).tolist()) for _ in range(nodes)]
    asked = [(0, 9000, *rng.integers(0, 60, 2).tolist()) for _ in range(rows)]
    load = workload(sizes, asked, steps=1)
    masks = rng.random((rows, nodes)) < rng.choice([0.3, 0.6, 1.0])
    daemon = rng.random(rows) < 0.2
    put = np.where(daemon, rng.integers(0, nodes, rows), -1)
    return _only_on(
        changed(load, rules={"daemon": daemon, "pinned": put}),
        masks,
    ), masks


@settings(max_examples=80)
@given(pooled())
def test_no_placement_is_on_fewer_nodes_or_cheaper_ones(made: tuple[Workload, np.ndarray]) -> None:
    load, masks = made
    assert load.rules.daemon is not None
    assert load.rules.pinned is not None
    bound = int(pool_bounds(load, load.nodes.allocatable)[0])
    price = np.round(1.0 + load.nodes.capacity[:, 0] % 7, 1)
    least = bounds_of(changed(load, nodes={"price_per_hour": price})).rows[0]["cost_per_hour"]
    pools = pool_costs(load, load.nodes.allocatable, price)[0]
    for nodes in itertools.product(range(load.nodes.count), repeat=load.containers.count):
        at = np.where(load.rules.daemon, load.rules.pinned, np.array(nodes))
        requested = np.zeros_like(load.nodes.capacity)
        np.add.at(requested, at, load.containers.request)
        allowed = masks[np.arange(load.containers.count), at] | load.rules.daemon
        if allowed.all() and (requested <= load.nodes.capacity).all():
            used = np.unique(at[~load.rules.daemon])
            assert len(used) >= bound
            assert price[used].sum() >= max(pools, least) - 1e-6


def test_pools_add_up() -> None:
    """Three of 50 on nodes of their own need two, and three on others; volume says 3 of all.

    One that may be on any node is in no pool, and hides none.
    """
    load = workload([(100, 100)] * 9, [(0, 9000, 50, 1)] * 6 + [(0, 9000, 0, 1)])
    own = np.zeros((7, 9), dtype=np.bool_)
    own[:3, :4] = True
    own[3:6, 4:8] = True
    own[6] = True
    assert bounds_of(load).rows[0]["nodes_used"] == 3
    assert bounds_of(_only_on(load, own)).rows[0]["nodes_used"] == 4


def test_who_ran_where_rules_bar_it_now_is_in_no_pool() -> None:
    """Nodes were tainted while it ran there; it said that 7 nodes are needed where 3 carried it."""
    load = workload([(100, 100)] * 9, [(0, 9000, 50, 1)] * 6)
    own = np.zeros((6, 9), dtype=np.bool_)
    own[:3, :4] = True
    own[3:, 4:8] = True
    for ran, needed in ((0, 4), (8, 3)):
        there = changed(load, containers={"recorded_node": np.array([ran, 0, 0, 4, 4, 4])})
        assert bounds_of(_only_on(there, own)).rows[0]["nodes_used"] == needed


def test_costs_of_pools_add_up() -> None:
    """Two of four nodes at 3 for three of 50, and two of four at 5; the cheap one takes none."""
    load = workload([(100, 100)] * 9, [(0, 9000, 50, 1)] * 6)
    own = np.zeros((6, 9), dtype=np.bool_)
    own[:3, :4] = True
    own[3:, 4:8] = True
    prices = np.array([3.0] * 4 + [5.0] * 4 + [1.0])
    priced = changed(_only_on(load, own), nodes={"price_per_hour": prices})
    assert bounds_of(priced).rows[0]["cost_per_hour"] == pytest.approx(16.0)
    assert bounds_of(changed(load, nodes={"price_per_hour": prices})).rows[0][
        "cost_per_hour"
    ] == pytest.approx(7.0)
