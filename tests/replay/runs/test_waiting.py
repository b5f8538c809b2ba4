"""Who never found a node under a policy, and what was in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, changed, widened, workload

from tracekit.cluster.constraints.allowed import Allowed, Suited
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.labels import Labels
from tracekit.cluster.parts import NodeEvents
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.explain import explain
from tracekit.replay.runs.run import replay
from tracekit.replay.runs.waiting import most_waiting, waiting


def found(load: Workload, policy: str = "first_fit") -> dict[str, Any]:
    run = replay(load, [parse_policy(policy)], seed=0)
    return waiting(load, run.placements, policy)


def of_one_service(load: Workload) -> Workload:
    return changed(load, containers={"services": ("web",) * load.containers.count})


FULL = of_one_service(workload([(1000, 100)] * 3, [(0, 9000, 800, 10)] * 5))


@given(seed=some.integers(0, 2**32), count=some.integers(1, 1500), largest=some.integers(1, 60))
@settings(max_examples=40, deadline=None)
def test_as_many_may_wait_as_their_count_and_requests_allow(
    seed: int, count: int, largest: int
) -> None:
    """Even the largest containers, by each resource alone, request no more than the share."""
    sizes = np.random.default_rng(seed).integers(10, 10 + largest, (count, 2)).tolist()
    rows: list[Row] = [(0, 9000, cpu, memory) for cpu, memory in sizes]
    load = workload([(1000, 1000)], rows, steps=1)
    may_wait = [
        few
        for few in range(len(rows) + 1)
        if 200 * few <= len(rows)
        and all(
            200 * sum(sorted((row[at] for row in rows), reverse=True)[:few])
            <= sum(row[at] for row in rows)
            for at in (2, 3)
        )
    ]
    assert most_waiting(load) == max(may_wait)


def test_nobody_waits() -> None:
    load = workload([(1000, 100)] * 3, [(0, 9000, 800, 10)] * 3)
    assert found(load) == {}


def test_who_left_before_is_counted_apart() -> None:
    rows: list[Row] = [*[(0, 9000, 800, 10)] * 3, (0, 2000, 800, 10), (0, 9000, 900, 10)]
    result = found(of_one_service(workload([(1000, 100)] * 3, rows)))
    assert (result["containers"], result["gone"]) == (2, 1)
    assert [kind["request"]["cpu_milli"] for kind in result["kinds"]] == [900]


def test_closed_nodes_are_not_counted_as_full() -> None:
    closed = Allowed(
        label="taints", of=np.zeros(5, np.int64), mask=np.array([[True, False, False]])
    )
    load = changed(FULL, rules={"constraints": Constraints(parts=(closed,))})
    kind = found(load)["kinds"][0]
    assert kind["containers"] == 4
    assert (kind["nodes"], kind["may_take"]) == (3, 1)
    assert (kind["closed"], kind["in_the_way"]) == ({"taints": 2}, {"cpu_milli": 1})
    assert kind["most_free"] == {"cpu_milli": 200, "memory_bytes": 90}
    gone = changed(FULL, nodes={"losses": NodeEvents(node=np.array([0]), time_ms=np.array([0]))})
    kind = found(gone)["kinds"][0]
    assert (kind["closed"], kind["in_the_way"]) == ({"gone": 1}, {"cpu_milli": 2})


sizes = some.lists(some.tuples(some.integers(1, 60), some.integers(1, 60)), min_size=3, max_size=12)


@pytest.mark.slow
@settings(max_examples=40)
@given(sizes, some.sampled_from(["first_fit", "worst_fit"]))
def test_what_lacks_is_what_the_decision_lacked(
    requests: Sequence[tuple[int, int]], policy: str
) -> None:
    """Nobody leaves: the last of those that wait finds at its arrival what is there at the end."""
    load = workload([(100, 100), (80, 120)], [(0, 9000, *one) for one in requests])
    result = found(load, policy)
    if not result:
        return
    run = replay(load, [parse_policy(policy)], seed=0)
    never = run.placements.filter(outcome="pending")["container"].to_list()
    assert result["containers"] == len(never)
    assert sum(kind["containers"] for kind in result["kinds"]) <= len(never)
    placed = run.placements.filter(outcome="placed")["container"].to_list()
    for kind in result["kinds"]:
        if any(int(name[1:]) > int(kind["container"][1:]) for name in placed):
            continue
        verdicts = explain(load, parse_policy(policy), kind["container"]).nodes
        lacked = (
            " and ".join(name for name in load.resources if f"too little {name}" in one.removed)
            for one in verdicts
        )
        assert kind["in_the_way"] == dict(Counter(lacked))
        assert (kind["may_take"], kind["closed"]) == (2, {})


TAINT = '[{"key": "own", "value": "ml", "effect": "NoSchedule"}]'
SSD = '[[{"key": "disk", "operator": "In", "values": ["ssd"]}]]'


@settings(max_examples=30)
@given(some.lists(some.tuples(*[some.booleans()] * 3, some.integers(0, 4)), min_size=2, max_size=9))
def test_each_node_counts_once_by_the_first_filter_that_it_fails(
    drawn: Sequence[tuple[bool, bool, bool, int]],
) -> None:
    """Node by node: cordoned, tainted, not selected, too small, and only then what is free."""
    load = on_a_kind_of_nodes(drawn)
    result = found(load)
    if not result:
        return
    (kind,) = result["kinds"]
    assert kind["service"] == "train"
    closed: Counter[str] = Counter()
    for cordoned, tainted, ssd, gpus in drawn:
        checks = (
            (cordoned, "are cordoned"),
            (tainted, "have the taint own=ml:NoSchedule"),
            (not ssd, "lack the label disk=ssd"),
            (gpus == 0, "have no GPU"),
            (gpus == 1, "have less GPU than it asks for"),
        )
        closed.update(next(([name] for fails, name in checks if fails), []))
    may = len(drawn) - closed.total()
    assert kind["closed"] == closed
    assert kind["may_take"] == may
    assert sum(kind["in_the_way"].values()) == may
    assert set(kind["in_the_way"]) <= {"gpu"}


def on_a_kind_of_nodes(drawn: Sequence[tuple[bool, bool, bool, int]]) -> Workload:
    """Nodes with 0 to 4 GPUs, cordoned, tainted, with an SSD or not; pods that ask for 2."""
    pods = 1 + sum(gpus // 2 for *_, gpus in drawn)
    nodes = pl.DataFrame(
        {
            "node": [str(at) for at in range(len(drawn))],
            "labels": ['{"disk": "ssd"}' if ssd else None for _, _, ssd, _ in drawn],
            "taints": [TAINT if tainted else None for _, tainted, _, _ in drawn],
            "state": ["closed" if cordoned else "ready" for cordoned, *_ in drawn],
        }
    )
    requested = {"container": [str(at) for at in range(pods)], "selector": [SSD] * pods}
    rules = Suited(Labels(nodes), nodes, pl.DataFrame({**requested, "tolerations": [None] * pods}))
    parts = tuple(one for one in (rules.selectors(), rules.taints()) if one is not None)
    load = workload([(10_000, 10_000)] * len(drawn), [(0, 9000, 1, 1)] * pods)
    return changed(
        widened(load, [gpus for *_, gpus in drawn], [2] * pods, "gpu"),
        containers={"services": ("train",) * pods},
        rules={"constraints": Constraints(parts=parts) if parts else None},
    )
