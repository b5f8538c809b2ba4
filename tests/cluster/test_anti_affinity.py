"""Rules on which services share a node, through a whole replay."""

from __future__ import annotations

import numpy as np
import polars as pl
from constraint_support import broken
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, changed, workload

from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import sharing
from tracekit.cluster.workload import Workload
from tracekit.policy.placement import all_policies
from tracekit.replay.runs.run import choose_policies, replay

SERVICES = ("s0", "s1", "s2")
POLICIES = sorted(name for name, policy in all_policies().items() if policy.filtered)

position = some.integers(0, 2)
rules = some.lists(some.tuples(position, position, some.integers(0, 1)), min_size=1, max_size=4)
rows = some.lists(
    some.tuples(some.integers(0, 3000), some.integers(500, 2000), some.integers(1, 9),
                some.integers(1, 9), some.integers(0, 3)),
    min_size=1, max_size=12,
)  # fmt: skip


def limited(load: Workload, found: list[tuple[int, int, int]]) -> Workload:
    service = np.array(
        [SERVICES.index(name) if name in SERVICES else -1 for name in load.containers.services]
    )
    limits = sharing(service, np.array(found, np.int64).reshape(-1, 3), load.nodes.count)
    return changed(load, rules={"constraints": Constraints(parts=(limits,))})


def placed(load: Workload, policy: str) -> pl.DataFrame:
    run = replay(load, choose_policies([policy], load), seed=0)
    return run.placements.filter(pl.col("policy") == policy)


@settings(max_examples=40)
@given(rows, rules, some.sampled_from(POLICIES))
def test_no_rule_is_ever_broken(
    made: list[tuple[int, int, int, int, int]], found: list[tuple[int, int, int]], policy: str
) -> None:
    given_rows: list[Row] = [(at, at + lasts, c, m, node) for at, lasts, c, m, node in made]
    load = limited(workload([(20, 20)] * 4, given_rows), found)
    rows_of = placed(load, policy)
    where = {name: at for at, name in enumerate(load.nodes.ids)}
    node = np.array([where.get(name, -1) for name in rows_of["node"]])
    since = np.array([-1 if at is None else at for at in rows_of["time_ms"]])
    assert load.rules.constraints is not None
    (part,) = load.rules.constraints.parts
    for now in sorted({*since.tolist()} - {-1}):
        there = (since >= 0) & (since <= now) & (now < load.containers.departure_ms)
        assert not broken(part, node, np.flatnonzero(there & (node >= 0)).tolist())


def test_a_closed_node_is_passed_over_until_its_holder_leaves() -> None:
    """s0 on n0; no s1 beside it. The first s1 goes to n1; the next finds n1 full and waits."""
    load = workload([(10, 10), (10, 10)], [(0, 2000, 1, 1), (10, 9000, 9, 9), (20, 9000, 9, 9)])
    load = changed(load, containers={"services": ("s0", "s1", "s1")})
    load = limited(load, [(0, 1, 0)])
    assert placed(load, "first_fit")["node"].to_list() == ["n0", "n1", "n0"]
    assert placed(load, "first_fit")["time_ms"].to_list() == [0, 10, 2000]


def test_production_is_shown_as_it_was() -> None:
    """Rules hold for policies; what production did against them is replayed all the same."""
    load = workload([(10, 10)] * 2, [(0, 9000, 1, 1, 0), (10, 9000, 1, 1, 0)])
    load = changed(load, containers={"services": ("s0", "s1")})
    assert placed(limited(load, [(0, 1, 0)]), "observed")["node"].to_list() == ["n0", "n0"]
