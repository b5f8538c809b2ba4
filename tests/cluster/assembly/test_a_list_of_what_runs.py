"""A list of what runs knows who stayed; and who is on a node is there before anybody else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_support import stored, workload
from kubernetes_support import CREATED_MS, Object, container, listed, node, owned, pod, written
from kubernetes_support import written as document
from tests_support import causes, the

from tracekit.base.arrays import stream
from tracekit.cluster.assembly.sizes import is_sized
from tracekit.cluster.assembly.workload import sized_assumptions, workload_from_sizes
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds.requests import never_placed
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import PlainPlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer
from tracekit.replay.runs.run import replay
from tracekit.store.folder import open_store

HOUR_MS = 3_600_000


def _load(folder: Path, objects: list[Object], *assume: str) -> Workload:
    folder.mkdir(exist_ok=True)
    ingest(written(folder / "cluster.json", listed(*objects)), folder / "store")
    return workload_from_sizes(
        open_store(folder / "store"), sized_assumptions(assume), stream(0, "test")
    )


def _pod(name: str, hour: int, cores: int, **spec: Any) -> Object:
    created = {"creationTimestamp": f"2026-01-01T{hour:02}:00:00Z"}
    waits = {} if "nodeName" in spec else {"status": {"phase": "Pending"}}
    return pod(name, meta=created, containers=[container(str(cores))], **waits, **spec)


GROWN = [node("n1"), *(_pod(f"web-{hour}", hour, 1, nodeName="n1") for hour in range(8))]


@pytest.mark.slow
def test_where_most_depart_it_is_a_history(tmp_path: Path) -> None:
    ended = {"phase": "Succeeded", "containerStatuses": [
        {"name": "main", "state": {"terminated": {"finishedAt": "2026-01-01T12:00:00Z"}}}
    ]}  # fmt: skip
    jobs = [
        pod(f"job-{at}", meta={"creationTimestamp": f"2026-01-01T{at:02}:00:00Z"}, status=ended,
            nodeName="n1")
        for at in range(9)
    ]  # fmt: skip
    load = _load(tmp_path, [*GROWN, *jobs])
    assert int(load.use.times_ms[0]) == CREATED_MS
    assert load.provenance.quantities["arrivals"] == "recorded"
    few = _load(tmp_path / "few", [*GROWN, *jobs[:3]])
    assert int(few.use.times_ms[0]) == CREATED_MS + 7 * HOUR_MS


def _cluster() -> list[Object]:
    return [
        _pod("big", 0, 7, nodeName="n1"),
        _pod("waits", 0, 2),
        _pod("urgent", 0, 2, priority=1000),
        pod("agent", meta=owned("DaemonSet", "agent"), nodeName="n1"),
    ]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 0, 3, 2), (2, 1, 3, 0)])
def test_nobody_takes_the_room_of_one_who_is_there(tmp_path: Path, order: tuple[int, ...]) -> None:
    """One that waits and is listed first was placed on what was taken; priority made it worse."""
    pods = _cluster()
    load = _load(tmp_path, [node("n1"), *(pods[at] for at in order)], "start=observed")
    run = replay(load, [parse_policy("first_fit")], seed=0)
    placed = run.placements.filter(policy="first_fit")
    where = dict(placed.select("container", "node").iter_rows())
    assert where["default/big"] == where["default/agent"] == "n1"
    assert where["default/waits"] is where["default/urgent"] is None
    row = run.summary.filter(policy="first_fit").row(0, named=True)
    assert row["overloaded_node_steps"] == 0
    assert row["cpu_max_fraction"] == pytest.approx(7.5 / 8)


_TINY = {"cpu": "1m", "memory": "1Mi", "pods": "110"}


def test_who_may_run_nowhere_is_named_with_what_shuts_it_out(tmp_path: Path) -> None:
    objects = [
        node("fast", labels={"disk": "ssd"}, taints=[{"key": "own", "effect": "NoSchedule"}]),
        node("slow"),
        pod("free"),
        pod("lost", nodeSelector={"disk": "tape"}),
        pod("picky", nodeSelector={"disk": "ssd"}),
        pod("let-in", nodeSelector={"disk": "ssd"}, tolerations=[{"operator": "Exists"}]),
        node("tiny", labels={"disk": "tape"}, allocatable=_TINY),
    ]
    load = _load(tmp_path, objects)
    assert sorted(load.containers.ids) == ["default/free", "default/let-in"]
    assert load.provenance.facts["containers_set_aside_shut_out"] == 2
    # nothing stands in for the use of who is not replayed
    assert (
        load.provenance.facts["containers_with_request_as_use"]
        == load.provenance.facts["containers_without_usage"]
        == 2
    )
    shut_out = the(load.provenance.remarks, "shut_out")
    assert (shut_out.value, shut_out.about["names"]) == (2, "default/lost, default/picky")
    # the one that has it is too small, and is not counted among those that lack it
    assert shut_out.about["why"] == (
        "2 nodes lack the label disk=tape, 1 node has the taint own:NoSchedule, 1 node is too small"
    )


def _asking(name: str, **spec: Any) -> Object:
    wanted = container("1")
    wanted["resources"]["requests"]["nvidia.com/gpu"] = "1"
    return pod(name, containers=[wanted], **spec)


def test_who_asks_for_what_no_node_has_is_named(tmp_path: Path) -> None:
    """Its request was dropped with the column, and it was placed as if it had asked for nothing."""
    waits = _asking("train", status={"phase": "Pending"})
    objects = [node("n1"), pod("free", nodeName="n1"), waits]
    load = _load(tmp_path, objects, "waiting=place")
    assert load.containers.ids == ("default/free",)
    about = {"names": "default/train", "resources": "gpu"}
    assert dict(the(load.provenance.remarks, "lacking").about) == about
    assert load.provenance.facts["containers_set_aside_lacking"] == 1


def test_where_one_ran_with_it_what_nodes_have_of_it_is_not_recorded(tmp_path: Path) -> None:
    objects = [node("n1"), _asking("ran", nodeName="n1"), _asking("train")]
    load = _load(tmp_path, objects, "waiting=place")
    assert set(load.containers.ids) == {"default/ran", "default/train"}


def test_pods_that_request_nothing_are_placed_on_nodes_as_large_as_they_are(tmp_path: Path) -> None:
    """They went the way of traces that record no sizes."""
    objects = [node("n1"), node("n2")]
    objects += [pod(f"p{at}", containers=[{"name": "main"}], nodeName="n1") for at in range(4)]
    load = _load(tmp_path, objects)
    assert is_sized(open_store(tmp_path / "store"))
    assert load.nodes.capacity[:, :2].tolist() == [[8000, 32 << 30]] * 2
    assert load.containers.request[:, :2].tolist() == [[0, 0]] * 4
    assert load.provenance.facts["containers_without_request"] == 4


def test_one_on_a_node_that_nobody_lists_takes_no_room_that_is_taken(tmp_path: Path) -> None:
    objects = [node("n1"), _pod("lost", 0, 2, nodeName="away"), _pod("big", 1, 7, nodeName="n1")]
    load = _load(tmp_path, objects, "start=observed")
    run = replay(load, [parse_policy("first_fit")], seed=0)
    placed = run.placements.filter(policy="first_fit")
    where = dict(placed.select("container", "node").iter_rows())
    assert where["default/big"] == "n1"
    assert where.get("default/lost") is None


@pytest.mark.slow
def test_who_waited_in_production_is_left_out_and_told(tmp_path: Path) -> None:
    objects = [*GROWN, _pod("train", 6, 4)]
    load = _load(tmp_path, objects)
    assert "default/train" not in load.containers.ids
    assert load.containers.count == 8
    left_out = the(load.provenance.remarks, "waiting_left_out")
    assert (left_out.about["service"], left_out.about["requested_cores"]) == ("default/train", 4)
    assert left_out.about["since"] == "2026-01-01 06:00 UTC"
    assert load.provenance.facts["containers_left_waiting"] == 1
    assert "containers_left_waiting_too_large" not in load.provenance.facts
    huge = _load(tmp_path / "huge", [*objects, _pod("huge", 6, 400)])
    assert huge.provenance.facts["containers_left_waiting_too_large"] == 1
    placed = _load(tmp_path / "placed", objects, "waiting=place")
    assert "default/train" in placed.containers.ids
    stayed = _load(tmp_path / "stayed", objects, "start=observed")
    assert "default/train" in stayed.containers.ids
    for load in (placed, stayed):
        assert the(load.provenance.remarks, "waiting_placed").about["service"] == "default/train"
        assert "waiting_left_out" not in causes(load.provenance.remarks)


def test_who_waited_and_fits_nowhere_is_not_said_to_be_placed(tmp_path: Path) -> None:
    objects = [*GROWN, _pod("train", 6, 4), _pod("vast", 6, 400)]
    load = _load(tmp_path, objects, "start=observed")
    assert the(load.provenance.remarks, "too_large").about["names"] == "default/vast"
    placed = the(load.provenance.remarks, "waiting_placed")
    assert (placed.value, placed.about["service"]) == (1, "default/train")


def test_where_most_wait_they_are_what_is_to_be_placed(tmp_path: Path) -> None:
    load = _load(tmp_path, [node("n1"), _pod("a", 0, 1, nodeName="n1"), _pod("b", 1, 1)])
    assert set(load.containers.ids) == {"default/a", "default/b"}


END_S = 3600
#: Name, arrival, departure (None: stays), in seconds. g0 leaves before g2 and g3 are there.
Pod = tuple[str, int, int | None]
GANG: list[Pod] = [("g0", 400, 1600), ("g2", 2900, None), ("g3", 3000, None)]
#: A member that is replaced by another once it has ended.
REPLACED: list[Pod] = [("g0", 60, 1800), ("g1", 60, None), ("g2", 1860, None)]


def from_csv(tmp_path: Path, pods: Sequence[Pod], stated: Sequence[int | None]) -> Workload:
    header = "container,service,arrival_ms,departure_ms,cpu_milli,memory_bytes,gang,gang_minimum"
    lines = [header, "x,x,0,,1000,4096,,"]
    for (name, at, end), least in zip(pods, stated, strict=True):
        until = "" if end is None else 1000 * end
        lines.append(f"{name},{name},{1000 * at},{until},1000,4096,g,{least or ''}")
    use = [f"x,{at},500,4096" for at in range(0, END_S * 1000 + 1, 60_000)]
    files = {
        "nodes.csv": ["node,cpu_milli,memory_bytes", "n0,8000,100000", "n1,8000,100000"],
        "containers.csv": lines,
        "usage.csv": ["container,time_ms,cpu_milli,memory_bytes", *use],
    }
    return workload(stored(tmp_path, files))


def _at(second: int) -> str:
    when = dt.datetime.fromtimestamp(CREATED_MS / 1000 + second, dt.UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def from_kubernetes(tmp_path: Path, pods: Sequence[Pod], stated: Sequence[int | None]) -> Workload:
    """Pods as kubectl lists them; who states a minimum is a PodGroup, and it is of all."""
    things: list[Object] = [node("n0"), node("n1")]
    for name, at, end in [("x", 0, END_S), *pods]:
        label = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}} if name != "x" else {}
        done = {"state": {"terminated": {"startedAt": _at(at), "finishedAt": _at(end or 0)}}}
        status = {"phase": "Running", "startTime": _at(at)}
        if end is not None:
            ended = {"name": "main", **done}
            status = {**status, "phase": "Succeeded", "containerStatuses": [ended]}  # type: ignore[dict-item]
        meta = {"creationTimestamp": _at(at), **label}
        things.append(pod(name, meta=meta, status=status, containers=[container("1")]))
    least = max((one for one in stated if one), default=None)
    if least:
        things.append(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "g", "namespace": "default"},
                "spec": {"minMember": least},
            }
        )
    document(tmp_path / "cluster.json", listed(*things))
    ingest(tmp_path / "cluster.json", tmp_path / "store")
    return workload(open_store(tmp_path / "store"), "step_ms=60000")


Read = Callable[[Path, Sequence[Pod], Sequence[int | None]], Workload]


def begins_s(load: Workload) -> dict[str, int]:
    """When each of the gang begins under first fit, by every engine alike."""
    results = []
    for placer in (PlainPlacer, fast_placer, rows_placer):
        engine = Engine(load, parse_policy("first_fit"), np.random.default_rng(0), placer=placer)
        results.append(engine.run().time_ms.tolist())
    assert results[0] == results[1] == results[2]
    start = int(load.use.times_ms[0])
    return {
        name.split("/")[-1]: (at - start) // 1000 if at >= 0 else -1
        for name, at in zip(load.containers.ids, results[0], strict=True)
        if not name.endswith("x")
    }


@pytest.mark.parametrize("read", [from_csv, from_kubernetes])
@pytest.mark.parametrize(
    ("pods", "stated", "expected"),
    [
        (GANG, [None] * 3, {"g0": -1, "g2": 3000, "g3": 3000}),
        (GANG, [2] * 3, {"g0": -1, "g2": 3000, "g3": 3000}),
        (GANG, [3] * 3, {"g0": -1, "g2": -1, "g3": -1}),
        # what one states is of the whole gang
        (GANG, [None, 3, None], {"g0": -1, "g2": -1, "g3": -1}),
        (REPLACED, [None] * 3, {"g0": 60, "g1": 60, "g2": 1860}),
        (REPLACED, [2] * 3, {"g0": 60, "g1": 60, "g2": 1860}),
    ],
)
def test_without_a_minimum_those_that_are_left_are_enough(
    read: Read,
    pods: Sequence[Pod],
    stated: Sequence[int | None],
    expected: dict[str, int],
    tmp_path: Path,
) -> None:
    load = read(tmp_path, pods, stated)
    assert begins_s(load) == expected
    # no bound leaves out who can be placed
    never = [load.containers.ids[at].split("/")[-1] for at in np.flatnonzero(never_placed(load))]
    assert not [name for name in never if expected[name] >= 0]
