"""Policies weighed against each other, beside a loop over nodes that does the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from replay_support import workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.explain import explain
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer
from tracekit.replay.fast.choose import rows_placer

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
    found = placed("1*least_allocated+2*first_fit", PlainPlacer, seen)
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
        assert found[at] == node
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
