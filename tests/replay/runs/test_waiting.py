"""Who never found a node under a policy, and what was in the way."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, workload

from tracekit.replay.engine.explain import explain
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.room_left import CELLS, FEW_LEFT, GANG, RULES, in_their_way
from tracekit.replay.runs.run import replay
from tracekit.replay.runs.waiting import waiting, waiting_told
from tracekit.replay.workload.constraints.allowed import Allowed, Suited, nowhere
from tracekit.replay.workload.constraints.by_domain import Apart
from tracekit.replay.workload.constraints.cells import Cells
from tracekit.replay.workload.constraints.constraints import Constraints
from tracekit.replay.workload.constraints.labels import Labels
from tracekit.replay.workload.node_times import Losses
from tracekit.replay.workload.workload import UNKNOWN, Workload


def found(load: Workload, policy: str = "first_fit") -> dict[str, Any]:
    run = replay(load, [parse_policy(policy)], seed=0)
    return waiting(load, run.placements, policy)


def said(load: Workload, policy: str = "first_fit") -> list[str]:
    told = waiting_told([{"policy": policy, "waiting": found(load, policy)}])
    return [one.replace("\N{NO-BREAK SPACE}", " ") for one in told]


def of_one_service(load: Workload) -> Workload:
    return dataclasses.replace(load, services=("web",) * load.containers)


FULL = of_one_service(workload([(1000, 100)] * 3, [(0, 9000, 800, 10)] * 5))


def test_nobody_waits() -> None:
    load = workload([(1000, 100)] * 3, [(0, 9000, 800, 10)] * 3)
    assert found(load) == {}
    assert said(load) == []


def test_too_little_is_free() -> None:
    """Three of five have a node each, where 0.2 cores are left."""
    assert said(FULL) == [
        (
            "first_fit left 2 containers without a node in the first order of arrival: 2 of"
            " web (0.8"
            " cores and 10 B of memory requested): 3 nodes have too little CPU free (0.2 cores at"
            " most)"
        )
    ]


def test_what_another_node_has_enough_of_is_not_called_the_most() -> None:
    """It read "too little CPU free, 0.9 cores at most" of a container that asks for 0.5."""
    rows: list[Row] = [(0, 9000, 900, 10), (0, 9000, 100, 90), (0, 9000, 500, 50)]
    load = of_one_service(workload([(1000, 100)] * 2, rows))
    (told,) = said(load, "worst_fit")
    assert told.endswith(": 1 node has too little memory free, 1 node has too little CPU free")


def test_who_left_before_is_counted_apart() -> None:
    rows: list[Row] = [*[(0, 9000, 800, 10)] * 3, (0, 2000, 800, 10), (0, 9000, 900, 10)]
    told = found(of_one_service(workload([(1000, 100)] * 3, rows)))
    assert (told["containers"], told["gone"]) == (2, 1)
    assert [kind["request"]["cpu_milli"] for kind in told["kinds"]] == [900]
    gone = of_one_service(workload([(1000, 100)], [(0, 9000, 800, 10), (0, 2000, 800, 10)]))
    assert said(gone) == [
        (
            "first_fit left 1 container without a node in the first order of arrival; it"
            " departed before there was room"
        )
    ]


def test_closed_nodes_are_not_counted_as_full() -> None:
    closed = Allowed(
        label="taints", of=np.zeros(5, np.int64), mask=np.array([[True, False, False]])
    )
    load = dataclasses.replace(FULL, constraints=Constraints(parts=(closed,)))
    kind = found(load)["kinds"][0]
    assert kind["containers"] == 4
    assert (kind["nodes"], kind["may_take"]) == (3, 1)
    assert (kind["closed"], kind["in_the_way"]) == ({"taints": 2}, {"cpu_milli": 1})
    assert said(load)[0].endswith(
        ": 1 of 3 nodes may take it: 1 has too little CPU free (0.2 cores at most), while 2 nodes"
        " are closed by taints"
    )
    assert kind["most_free"] == {"cpu_milli": 200, "memory_bytes": 90}
    gone = dataclasses.replace(FULL, losses=Losses(node=np.array([0]), time_ms=np.array([0])))
    kind = found(gone)["kinds"][0]
    assert (kind["closed"], kind["in_the_way"]) == ({"gone": 1}, {"cpu_milli": 2})


def test_what_closes_is_named_and_what_no_node_has() -> None:
    nodes = pl.DataFrame(
        {
            "node": ["a", "b", "c"],
            "labels": ['{"disk": "ssd"}', None, None],
            "taints": ['[{"key": "own", "value": "ml", "effect": "NoSchedule"}]', None, None],
            "state": ["ready", "ready", "closed"],
        }
    )
    picky = '[[{"key": "disk", "operator": "In", "values": ["ssd"]}]]'
    suited = Suited(
        Labels(nodes),
        nodes,
        pl.DataFrame(
            {
                "container": [str(at) for at in range(5)],
                "selector": [picky] * 5,
                "tolerations": [None] * 5,
            }
        ),
    )
    parts = tuple(one for one in (suited.selectors(), suited.taints()) if one is not None)
    load = dataclasses.replace(FULL, constraints=Constraints(parts=parts))
    (told,) = said(load)
    assert told.endswith(
        ": no node may take it, 1 node is cordoned, 1 node has the taint own=ml:NoSchedule and"
        " 1 node lacks the label disk=ssd"
    )
    rows: list[Row] = [(0, 9000, 800, 10)] * 2
    plain = of_one_service(workload([(1000, 100)] * 3, rows))
    asks = dataclasses.replace(
        plain,
        resources=(*plain.resources, "gpu"),
        capacity=np.pad(plain.capacity, ((0, 0), (0, 1))),
        request=np.pad(plain.request, ((0, 0), (0, 1)), constant_values=1),
        limit=np.pad(plain.limit, ((0, 0), (0, 1))),
        nonzero_request=np.pad(plain.nonzero_request, ((0, 0), (0, 1)), constant_values=1),
    )
    assert said(asks)[0].endswith(": no node may take it, 3 nodes have no GPU")


def test_rules_on_others_and_gangs_are_told_where_there_is_room() -> None:
    apart = Apart(by="node", group=np.zeros(4, np.int64), domain=np.arange(3), most=np.array([1]))
    load = of_one_service(workload([(1000, 100)] * 3, [(0, 9000, 100, 1)] * 4))
    load = dataclasses.replace(load, constraints=Constraints(parts=(apart,)))
    assert found(load)["kinds"][0]["in_the_way"] == {RULES: 3}
    assert in_their_way(found(load)) == RULES
    assert in_their_way(found(FULL)) == "room for requests"
    # two cells of 500, in each of which one container of 300 has room: 400 are left, 200 in each
    celled = of_one_service(workload([(1000, 100)], [(0, 9000, 300, 1)] * 3))
    cells = Cells(
        capacity=np.array([[[500, 50], [500, 50]]]),
        request=celled.request[:, :2],
        numa_cells=np.ones(3, np.int64),
    )
    celled = dataclasses.replace(celled, constraints=Constraints(parts=(cells,)))
    assert found(celled)["kinds"][0]["in_the_way"] == {CELLS: 1}
    assert "has room, but has it in no NUMA cells as the container asks for" in said(celled)[0]
    # who is larger than any cell waits for nobody: no policy can place it
    capacity = np.array([[1000, 100]])
    assert nowhere(Constraints(parts=(cells,)), celled.request, capacity) == []
    for bound, what in (
        (1, "1 node has no NUMA cell that is large enough"),
        (3, "1 node has fewer than 3 NUMA cells that are large enough for an equal part each"),
    ):
        larger = dataclasses.replace(
            cells, request=celled.request[:, :2] * 2, numa_cells=np.full(3, bound)
        )
        shut = nowhere(Constraints(parts=(larger,)), celled.request[:, :2] * 2, capacity)
        assert shut == [(at, what) for at in range(3)]
    gang = of_one_service(workload([(1000, 100)] * 3, [(0, 9000, 900, 1)] * 4))
    gang = dataclasses.replace(gang, gang=np.zeros(4, np.int64))
    assert found(gang)["kinds"][0]["in_the_way"] == {GANG: 3}
    assert in_their_way(found(gang)) == "room for a whole gang"
    assert "3 nodes have room, but not for enough of its gang" in said(gang)[0]


def test_a_gang_of_which_too_few_are_left_is_told_so() -> None:
    rows: list[Row] = [(0, 2500, 1000, 1), (10, 2000, 300, 1), *[(10, 9000, 300, 1)] * 2]
    load = of_one_service(workload([(1000, 100)], rows))
    load = dataclasses.replace(
        load, gang=np.array([-1, 0, 0, 0]), gang_minimum=np.array([0, 3, 3, 3])
    )
    assert found(load)["kinds"][0]["in_the_way"] == {FEW_LEFT: 1}
    assert in_their_way(found(load)) == "gangs of which too few are left"
    assert "1 node has room, but fewer of its gang are left than must run together" in said(load)[0]


@pytest.mark.parametrize(
    ("services", "who"),
    [
        ((UNKNOWN,) * 5, ": 2 of no service ("),
        (("web", "web", "web", UNKNOWN, "api"), ": 2 of api and no service ("),
    ],
)
def test_containers_without_a_service_are_of_none(services: tuple[str, ...], who: str) -> None:
    """It said '28 of ?, c3/affinity/44'."""
    (told,) = said(dataclasses.replace(FULL, services=services))
    assert who in told, told


def test_policies_with_the_same_are_one_sentence_and_production_is_none() -> None:
    one = found(FULL)
    both = waiting_told([{"policy": name, "waiting": one} for name in ("a", "b", "observed")])
    assert len(both) == 1
    assert both[0].startswith("a and b left ")
    assert waiting_told([{"policy": "a"}, {"policy": "b", "waiting": {}}]) == []


sizes = some.lists(some.tuples(some.integers(1, 60), some.integers(1, 60)), min_size=3, max_size=12)


@pytest.mark.slow
@settings(max_examples=40)
@given(sizes, some.sampled_from(["first_fit", "worst_fit"]))
def test_what_lacks_is_what_the_decision_lacked(
    requests: Sequence[tuple[int, int]], policy: str
) -> None:
    """Nobody leaves: the last of those that wait finds at its arrival what is there at the end."""
    load = workload([(100, 100), (80, 120)], [(0, 9000, *one) for one in requests])
    told = found(load, policy)
    if not told:
        return
    run = replay(load, [parse_policy(policy)], seed=0)
    never = run.placements.filter(outcome="pending")["container"].to_list()
    assert told["containers"] == len(never)
    assert sum(kind["containers"] for kind in told["kinds"]) <= len(never)
    placed = run.placements.filter(outcome="placed")["container"].to_list()
    for kind in told["kinds"]:
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
    told = found(load)
    if not told:
        return
    (kind,) = told["kinds"]
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
    asked = {"container": [str(at) for at in range(pods)], "selector": [SSD] * pods}
    rules = Suited(Labels(nodes), nodes, pl.DataFrame({**asked, "tolerations": [None] * pods}))
    parts = tuple(one for one in (rules.selectors(), rules.taints()) if one is not None)
    load = workload([(10_000, 10_000)] * len(drawn), [(0, 9000, 1, 1)] * pods)
    gpus = np.array([[count] for *_, count in drawn])
    two = np.full((pods, 1), 2)
    return dataclasses.replace(
        load,
        services=("train",) * pods,
        resources=(*load.resources, "gpu"),
        capacity=np.hstack([load.capacity, gpus]),
        request=np.hstack([load.request, two]),
        limit=np.hstack([load.limit, two]),
        nonzero_request=np.hstack([load.nonzero_request, two]),
        constraints=Constraints(parts=parts) if parts else None,
    )


def test_alike_kinds_are_one_and_how_many_stay_where_they_ran_is_told() -> None:
    load = on_a_kind_of_nodes([(False, False, True, 2), (False, False, True, 3)])
    load = dataclasses.replace(
        load,
        services=tuple(f"train-{at}" for at in range(load.containers)),
        assumptions={"start": "empty"},
        exchangeable=np.ones(load.containers, np.bool_),
        recorded_node=np.zeros(load.containers, np.int64),
    )
    capacity = load.capacity.copy()
    capacity[:, 2] = 2
    three = dataclasses.replace(load, capacity=capacity)
    assert said(three) == [
        (
            "first_fit left 1 container without a node in the first order of arrival: 1 of"
            " train-2 (0.001"
            " cores, 1 B of memory and 2 gpu requested): 2 nodes have too little GPU free (0 gpu at"
            " most). With --start observed it stays where production ran it"
        )
    ]
    kinds = [{**found(three)["kinds"][0], "service": f"train-{at}"} for at in range(5)]
    both = {"containers": 5, "gone": 0, "kept": 3, "kinds": kinds}
    (told,) = waiting_told([{"policy": "a", "waiting": both}])
    assert ": 5 of train-0, train-1, train-2 and 2 more (" in told
    assert told.endswith(" (0 gpu at most). With --start observed 3 stay where production ran them")
