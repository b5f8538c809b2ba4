"""A node that left or came within the recorded time is there in a replay as long as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kubernetes_support import CREATED_MS, Object, container, listed, node, pod, written
from tests_support import the

from tracekit.base.arrays import stream
from tracekit.cluster.assembly.workload import sized_assumptions, workload_from_sizes
from tracekit.cluster.losses import with_losses
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer
from tracekit.store.folder import open_store

HOUR_MS = 3_600_000


def _pod(name: str, hour: int, where: str, cores: int = 3) -> Object:
    created = {"creationTimestamp": f"2026-01-01T{hour:02}:00:00Z"}
    return pod(name, meta=created, containers=[container(str(cores))], nodeName=where)


def _node(name: str, hour: int = 0) -> Object:
    made = node(name)
    made["metadata"]["creationTimestamp"] = f"2026-01-01T{hour:02}:00:00Z"
    return made


def _load(folder: Path) -> Workload:
    """n2 left and n3 came between two lists; ``stays`` outlives the first, ``new`` runs on n3."""
    (folder / "lists").mkdir()
    first = [_node("n1"), _node("n2"), _pod("stays", 0, "n1"), _pod("goes", 1, "n2")]
    second = [_node("n1"), _node("n3", 8), _pod("stays", 0, "n1"), _pod("new", 9, "n3")]
    written(folder / "lists" / "a.json", listed(*first))
    written(folder / "lists" / "b.json", listed(*second))
    ingest(folder / "lists", folder / "store")
    settings = sized_assumptions(("arrivals=recorded", "departures=none"))
    return workload_from_sizes(open_store(folder / "store"), settings, stream(0, "test"))


def test_when_nodes_came_and_left_is_known(tmp_path: Path) -> None:
    load = _load(tmp_path)
    assert load.nodes.losses is not None
    assert load.nodes.joins is not None
    assert [load.nodes.ids[at] for at in load.nodes.losses.node] == ["n2"]
    assert load.nodes.losses.time_ms.tolist() == [CREATED_MS + 9 * HOUR_MS]
    assert [load.nodes.ids[at] for at in load.nodes.joins.node] == ["n3"]
    assert load.nodes.joins.time_ms.tolist() == [CREATED_MS + 8 * HOUR_MS]
    assert the(load.provenance.remarks, "node_came").about["names"] == "n3"
    assert the(load.provenance.remarks, "node_gone").about["names"] == "n2"


@pytest.mark.parametrize(
    "placer", [PlainPlacer, rows_placer, fast_placer], ids=["plain", "rows", "compiled"]
)
def test_nothing_is_placed_before_a_node_came_and_after_it_left(
    tmp_path: Path, placer: MakePlacer
) -> None:
    load = _load(tmp_path)
    policy = parse_entrant("worst_fit").placement
    outcome = Engine(load, policy, stream(0, "test"), placer=placer).run()
    where = {load.nodes.ids[at] for at in outcome.node}
    came = dict(zip(load.containers.ids, outcome.time_ms.tolist(), strict=True))
    assert where <= {"n1", "n3"}
    # who ran on n2 was placed anew when it left
    assert len(outcome.taken_off.evicted) == 1
    evicted = load.containers.ids[int(outcome.taken_off.evicted[0])]
    assert came[evicted] == CREATED_MS + 9 * HOUR_MS


def _away(folder: Path, *assume: str) -> Workload:
    """n0 is away from 2,000 to 3,000 s; n1 has room for two of the containers, of one core each."""
    (folder / "own").mkdir()
    (folder / "own" / "nodes.csv").write_text(
        "node,cpu_milli,memory_bytes,time_ms,state\n"
        "n0,4000,17179869184,0,ready\n"
        "n0,4000,17179869184,2000000,gone\n"
        "n0,4000,17179869184,3000000,ready\n"
        "n1,2000,17179869184,0,ready\n"
    )
    lives = ((1000, ""), (2_500_000, ""), (2_600_000, ""), (3_500_000, ""))
    rows = [f"c{at},{came},1000,1073741824,{left}" for at, (came, left) in enumerate(lives)]
    header = "container,arrival_ms,cpu_milli,memory_bytes,departure_ms"
    (folder / "own" / "containers.csv").write_text("\n".join([header, *rows]) + "\n")
    ingest(folder / "own", folder / "store")
    settings = sized_assumptions(("arrivals=recorded", *assume))
    return workload_from_sizes(open_store(folder / "store"), settings, stream(0, "test"))


@pytest.mark.parametrize(
    "placer", [PlainPlacer, rows_placer, fast_placer], ids=["plain", "rows", "compiled"]
)
def test_nothing_is_placed_on_a_node_that_is_away(tmp_path: Path, placer: MakePlacer) -> None:
    load = _away(tmp_path)
    policy = parse_entrant("first_fit").placement
    outcome = Engine(load, policy, stream(0, "test"), placer=placer).run()
    came = dict(zip(load.containers.ids, outcome.time_ms.tolist(), strict=True))
    where = {
        name: load.nodes.ids[at] for name, at in zip(load.containers.ids, outcome.node, strict=True)
    }
    # c0 is evicted when n0 leaves and goes to n1, c1 fits beside it, c2 waits until n0 is back
    assert where == {"c0": "n1", "c1": "n1", "c2": "n0", "c3": "n0"}
    assert came == {"c0": 2_000_000, "c1": 2_500_000, "c2": 3_000_000, "c3": 3_500_000}
    assert [load.containers.ids[at] for at in outcome.taken_off.evicted] == ["c0"]


def test_a_node_that_is_away_is_told_and_kept_among_others(tmp_path: Path) -> None:
    load = _away(tmp_path)
    assert the(load.provenance.remarks, "node_away").about["names"] == "n0"
    part = on_nodes(load, np.array([1, 0], dtype=np.int64))
    assert part.nodes.leaves is not None
    assert part.nodes.returns is not None
    assert (part.nodes.leaves.node.tolist(), part.nodes.leaves.time_ms.tolist()) == (
        [1],
        [2_000_000],
    )
    assert part.nodes.returns.time_ms.tolist() == [3_000_000]
    (alone,) = (on_nodes(load, np.array([1], dtype=np.int64)).nodes.leaves,)
    assert alone is not None
    assert not len(alone.node)


def test_a_node_that_is_lost_while_it_is_away_does_not_come_back(tmp_path: Path) -> None:
    load = _away(tmp_path)
    after = 2_200_000 - int(load.use.times_ms[0])
    lost = with_losses(load, f"n0@{after}", stream(0, "lost"))
    policy = parse_entrant("first_fit").placement
    outcome = Engine(lost, policy, stream(0, "test"), placer=PlainPlacer).run()
    assert {lost.nodes.ids[at] for at in outcome.node if at >= 0} == {"n1"}
    assert (outcome.node < 0).sum() == 2
