"""Policies weighed against each other, beside a loop over nodes that does the same."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import changed, workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.calls import call_weights
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.policy.parse import get_policy, parse_policy
from tracekit.policy.placement import all_policies
from tracekit.policy.profile import near_kind, to_hundred
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.explain import explain
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer
from tracekit.replay.fast.choose import rows_placer
from tracekit.replay.runs.one import replay_one

TEXTS = [
    "0.7*target_load_packing+0.3*load_variation_risk_balancing",
    "2*least_allocated+1*balanced_allocation",
    "1*best_fit[tie=reservoir]+3*most_requested",
    "0.5*bnp+0.5*first_fit",
    "1*node_resources_allocatable+1*balanced_allocation[form=legacy_10]",
    "1*default_scheduler+1*peaks",
    "1.5*least_allocated[near_weight=1.0]",
    "0.5*least_allocated+0.5*random+low_node_utilization[interval_ms=2000]",
]

OWN = '''"""Prefer nodes with few containers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.policy.placement import PlacementPolicy, Reads


@dataclass(frozen=True, kw_only=True)
class Few(PlacementPolicy):
    """Few containers on a node, however large."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "a test"

    def score(self, snapshot, container, nodes):
        """Minus their number."""
        return -snapshot.containers[nodes].astype(np.float64)
'''


def load(seed: int = 1, nodes: int = 12, containers: int = 80) -> Workload:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(500, 3000, (nodes, 2))
    rows = [
        (int(rng.integers(0, 5000)), int(rng.integers(6000, 90_000)), int(cpu), int(memory))
        for cpu, memory in rng.integers(10, 300, (containers, 2))
    ]
    return workload([(int(a), int(b)) for a, b in sizes], rows, steps=8)


def placed(text: str, placer: MakePlacer, seen: Workload) -> list[int]:
    entrant = parse_entrant(text)
    policy, rebalance = entrant.placement, entrant.rebalance
    rng = np.random.default_rng(0)
    engine = Engine(seen, policy, rng, rebalance=rebalance, placer=placer)
    nodes: list[int] = engine.run().node.tolist()
    return nodes


@pytest.mark.parametrize("text", TEXTS)
def test_its_text_reads_back(text: str) -> None:
    assert str(parse_entrant(text)) == text
    assert parse_entrant(parse_entrant(text).address()) == parse_entrant(text)


@pytest.mark.parametrize("text", [text for text in TEXTS if "near" not in text])
def test_both_engines_decide_the_same(text: str) -> None:
    seen = load()
    assert placed(text, PlainPlacer, seen) == placed(text, rows_placer, seen)


def test_the_default_scheduler_is_two_plugins_of_weight_one() -> None:
    seen = load()
    whole = placed("default_scheduler[tie=first]", PlainPlacer, seen)
    assert placed("1*least_allocated+1*balanced_allocation", PlainPlacer, seen) == whole


def test_a_policy_of_another_scale_is_brought_to_a_hundred() -> None:
    """By a loop that knows nothing of the classes: first fit gives the first 100, the last 0."""
    seen = load(nodes=6, containers=30)
    by_engine = placed("1*least_allocated+2*first_fit", PlainPlacer, seen)
    taken = np.zeros((6, 2), dtype=np.int64)
    leaving: list[tuple[int, int, int]] = []
    order = np.argsort(seen.containers.arrival_ms, kind="stable")
    waited = False
    for at in order.tolist():
        now = int(seen.containers.arrival_ms[at])
        for gone in [one for one in leaving if one[0] <= now]:
            taken[gone[1]] -= seen.containers.request[gone[2]]
            leaving.remove(gone)
        after = taken + seen.containers.request[at]
        room = [node for node in range(6) if (after[node] <= seen.nodes.capacity[node]).all()]
        if not room:
            waited = True
            break
        scores = []
        for node in room:
            free = (seen.nodes.capacity[node] - after[node]) * 100 // seen.nodes.capacity[node]
            last = room[-1] - room[0]
            position = 100 - 100 * (node - room[0]) / last if last else 100
            scores.append(int(free.sum()) // 2 + 2 * position)
        node = room[int(np.argmax(np.round(scores, 9)))]
        assert by_engine[at] == node
        taken[node] += seen.containers.request[at]
        leaving.append((int(seen.containers.departure_ms[at]), node, at))
    assert not waited


def test_an_own_policy_is_weighed_too(tmp_path: Path) -> None:
    file = tmp_path / "few.py"
    file.write_text(OWN)
    text = f"0.9*{file}+0.1*least_allocated"
    entrant = parse_entrant(text)
    assert str(entrant) == "0.9*few+0.1*least_allocated"
    assert entrant.written_in() == (str(file),)
    assert parse_entrant(entrant.address()) == entrant
    assert placed(text, PlainPlacer, load()) == placed(text, rows_placer, load())


def test_a_decision_is_explained_by_what_each_gives_of_a_hundred() -> None:
    seen = load()
    text = "2*least_allocated+0.5*balanced_allocation+1*least_allocated[resources=cpu:1]"
    decision = explain(seen, parse_entrant(text), seen.containers.ids[5])
    for node in (one for one in decision.nodes if one.score is not None):
        first, even, again = node.parts.values()
        assert node.score == pytest.approx(2 * first + 0.5 * even + again)
    assert list(decision.nodes[0].parts) == [
        "least_allocated of 100",
        "balanced_allocation of 100",
        "least_allocated of 100 (2)",
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("0*first_fit", "first_fit"),
        ("-1*first_fit", "first_fit"),
        ("1e308*first_fit", "first_fit"),
        ("inf*first_fit", "first_fit"),
        ("nan*first_fit", "first_fit"),
        ("much*first_fit", "'much'"),
        ("1*first_fit+best_fit+1*lra", "'best_fit'"),
        ("first_fit+best_fit", "'best_fit'"),
        ("1*tbesk+1*first_fit", "tbesk"),
        ("1*observed", "observed"),
        ("1*nothing", "'nothing'"),
    ],
)
def test_what_cannot_be_weighed_is_refused(text: str, named: str) -> None:
    with pytest.raises(TracekitError, match=named):
        parse_entrant(text)


def test_measurements_are_those_of_the_one_that_learns_latest() -> None:
    policy = parse_policy("1*bnp+1*target_load_packing")
    assert policy.metric_time_ms(95_000) == parse_policy("target_load_packing").metric_time_ms(
        95_000
    )
    assert policy.metric_samples() == 30


EDGES = pl.DataFrame(
    {
        "upstream": ["a", "b", "a", None, "c", "a"],
        "downstream": ["b", "a", "c", "a", "c", "zz"],
        "calls": [30, 10, 10, 99, 5, 7],
    }
)


def test_weights_count_both_directions_and_only_what_is_known() -> None:
    weights = call_weights(("c", "a", "b", "a"), EDGES)
    assert weights.kind.tolist() == [2, 0, 1, 0]
    assert weights.shares(0).tolist() == [0.0, 0.8, 0.2]
    assert weights.shares(1).tolist() == [1.0, 0.0, 0.0]
    assert call_weights(("x",), EDGES).shares(0).tolist() == [0.0]


def test_a_call_may_meet_any_container_of_a_service() -> None:
    weights = call_weights(("a", "b", "b", "c"), EDGES)
    share = weights.stay_share(0, np.array([1, 1, 2]), np.array([0, 1, 1]), 3)
    assert share == pytest.approx([0.4, 0.4 + 0.2, 0.0])


@given(some.integers(0, 2**32))
def test_the_kept_share_by_plain_counting(seed: int) -> None:
    rng = np.random.default_rng(seed)
    services = tuple(rng.choice(list("abcd"), size=9).tolist())
    pairs = [pair for pair in itertools.combinations("abcd", 2) if rng.random() < 0.7]
    edges = pl.DataFrame(
        {"upstream": [p[0] for p in pairs], "downstream": [p[1] for p in pairs],
         "calls": rng.integers(1, 9, len(pairs))},
        schema={"upstream": pl.String, "downstream": pl.String, "calls": pl.Int64},
    )  # fmt: skip
    node = rng.integers(-1, 3, 9)
    inside = total = 0.0
    for one, other, calls in edges.iter_rows():
        mine = [int(node[at]) for at in range(9) if services[at] == one and node[at] >= 0]
        theirs = [int(node[at]) for at in range(9) if services[at] == other and node[at] >= 0]
        if mine and theirs:
            total += calls
            same = sum(x == y for x in mine for y in theirs)
            inside += calls * same / (len(mine) * len(theirs))
    share = call_weights(services, edges).kept_share(node)
    assert share == (pytest.approx(inside / total) if total else None)


def chatty() -> Workload:
    """Two nodes and pairs of services that call each other alone; sizes alike."""
    rows = [(at * 10, 10_000, 10, 10) for at in range(8)]
    load = workload([(100, 100), (100, 100)], rows, steps=3)
    services = tuple("abcdabcd")
    edges = pl.DataFrame({"upstream": ["a", "c"], "downstream": ["b", "d"], "calls": [1, 1]})
    return changed(
        load, containers={"services": services}, rules={"calls": call_weights(services, edges)}
    )


@pytest.mark.parametrize("name", ["least_allocated", "worst_fit"])
def test_chatty_services_come_together(name: str) -> None:
    load = chatty()
    shares = [
        replay_one(load, parse_policy(text), 3).row["kept_calls_share"]
        for text in (name, f"{name}[near_weight=10]")
    ]
    assert shares[1] == 1.0 > shares[0]


@pytest.mark.parametrize("name", sorted(all_policies()))
def test_any_policy_that_decides_one_by_one_takes_it(name: str) -> None:
    kind = get_policy(name)
    if kind.batched or "recorded" in kind.reads:
        with pytest.raises(TracekitError, match="near_weight"):
            near_kind(kind)
        return
    text = f"{name}[near_weight=2.5]"
    policy = parse_policy(text)
    assert str(policy) == text
    assert (policy.name(), policy.joint) == (name, True)
    outcome = Engine(chatty(), policy, np.random.default_rng(0)).run()
    assert (outcome.node >= 0).all()


def test_without_weight_the_choice_is_the_policys_own() -> None:
    load = chatty()
    plain, zero = (
        Engine(load, policy, np.random.default_rng(0)).run().node.tolist()
        for policy in (parse_policy("least_allocated"), near_kind(get_policy("least_allocated"))())
    )
    assert plain == zero


def test_equal_scores_are_all_full() -> None:
    assert to_hundred(np.array([3, 3])).tolist() == [100.0, 100.0]
    assert to_hundred(np.array([1, 3, 2])).tolist() == [0.0, 100.0, 50.0]
