"""What kubectl states and a replay cannot use is a doubt, the same for every verb."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from facts_support import causes, the
from kubernetes_support import (
    Object,
    answer,
    container,
    listed,
    node,
    owned,
    pod,
    series,
    written,
)
from reading_support import read

from tracekit.base.facts import Fact
from tracekit.base.seeds import stream
from tracekit.cluster.sized.workload import sized_assumptions, workload_from_sizes
from tracekit.cluster.workload import Workload
from tracekit.commands.check import check
from tracekit.commands.info import info
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store


def _loaded(tmp_path: Path, *objects: Object) -> tuple[Workload, tuple[Fact, ...]]:
    """The workload of a cluster, and the doubts that every verb has of it."""
    source = written(tmp_path / "cluster.json", listed(*objects))
    doubts = ingest(source, tmp_path / "store").doubts
    load = workload_from_sizes(
        open_store(tmp_path / "store"), sized_assumptions([]), stream(0, "test")
    )
    assert load.remarks == doubts
    documents = [one.document() for one in doubts]
    assert check(tmp_path / "store")["doubts"] == documents
    assert info(tmp_path / "store")["doubts"] == documents
    return load, doubts


UNUSABLE: list[tuple[str, dict[str, str], str]] = [
    ("nothing", {}, "cpu, memory"),
    ("zero", {"cpu": "0", "memory": "0"}, "cpu, memory"),
    ("negative", {"cpu": "-8", "memory": "32Gi"}, "cpu"),
    ("no number", {"cpu": "8", "memory": "NaN"}, "memory"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("_", "sizes", "lacks"), UNUSABLE, ids=[case[0] for case in UNUSABLE])
def test_a_node_without_a_usable_size_is_set_aside_and_its_daemons_with_it(
    tmp_path: Path, _: str, sizes: dict[str, str], lacks: str
) -> None:
    load, (doubt,) = _loaded(
        tmp_path,
        node("n1"),
        node("dead", allocatable=sizes),
        pod("web-1", nodeName="n1"),
        pod("web-2", nodeName="dead"),
        pod("agent", meta=owned("DaemonSet", "agent"), nodeName="dead"),
    )
    assert load.node_ids == ("n1",)
    assert load.capacity.tolist() == [[8000, 32 << 30, 110]]
    assert sorted(load.container_ids) == ["default/web-1", "default/web-2"]
    assert (doubt.because, doubt.about["names"], doubt.about["lacks"]) == (
        "without_size", "dead", lacks,
    )  # fmt: skip


@pytest.mark.slow
def test_what_nodes_lack_is_named_once(tmp_path: Path) -> None:
    _, (doubt,) = _loaded(
        tmp_path,
        node("n1"),
        node("n2", allocatable={"cpu": "8"}),
        node("n3", allocatable={}),
        node("n4", allocatable={"memory": "1Gi"}),
        pod("web-1", nodeName="n1"),
    )
    assert doubt.value == 3
    assert dict(doubt.about) == {"names": "n2, n3, n4", "lacks": "cpu, memory"}


@pytest.mark.slow
def test_where_no_size_is_stated_at_all_it_is_an_assumption(tmp_path: Path) -> None:
    load, doubts = _loaded(tmp_path, node("n1", allocatable={"pods": "9"}), pod(nodeName="n1"))
    assert load.nodes == 1
    assert [(one.about["resource"], one.about["assumption"]) for one in doubts] == [
        ("cpu", "node_cpu_cores"),
        ("memory", "node_memory_bytes"),
    ]
    assert load.quantities["node sizes"] == "assumed"


def test_what_every_node_spells_wrong_is_no_silent_assumption(tmp_path: Path) -> None:
    sizes = {"cpu": "eight", "memory": "32Gi", "pods": "110"}
    load, (doubt,) = _loaded(tmp_path, node("n1", allocatable=sizes), pod(nodeName="n1"))
    assert load.capacity[0, 1] == 32 << 30
    assert (doubt.because, doubt.about["resource"]) == ("resource_of_no_node", "cpu")


#: What a node states of its readiness; whether it is one that takes nothing.
READY: list[tuple[str | None, bool]] = [
    ("True", False),
    (None, False),
    ("False", True),
    ("Unknown", True),
]


@pytest.mark.slow
@pytest.mark.parametrize(("status", "unready"), READY)
def test_a_node_that_is_not_ready_takes_nothing(
    tmp_path: Path, status: str | None, unready: bool
) -> None:
    other = node("n2")
    if status is not None:
        other["status"]["conditions"] = [{"type": "Ready", "status": status}]
    load, doubts = _loaded(tmp_path, node("n1"), other, pod("web-1", nodeName="n1"))
    assert load.constraints is not None or not unready
    found = [(one.because, one.about["names"]) for one in doubts]
    assert found == [("node_not_ready", "n2")] * unready


def test_a_node_that_is_not_ready_in_a_later_list_was_ready_before(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    for name, status, since in (("a", "True", "T00:00:00Z"), ("b", "False", "T05:00:00Z")):
        one = node("n1")
        beat = {"type": "Ready", "status": status, "lastHeartbeatTime": f"2026-01-02{since}"}
        one["status"]["conditions"] = [beat]
        written(folder / f"{name}.json", listed(one, pod(nodeName="n1")))
    use = series(None, [(1_767_225_660 + 60 * at, 1.0) for at in range(3)], nodename="n1")
    written(folder / "node_cpu_in_use.json", answer(use))
    doubts = ingest(folder, tmp_path / "store").doubts
    assert the(doubts, "node_not_ready_later").about["names"] == "n1"


def test_a_taint_that_kubernetes_gave_already_stands_once(tmp_path: Path) -> None:
    taint = {"key": "node.kubernetes.io/unreachable", "value": "", "effect": "NoSchedule"}
    one = node("n1", taints=[taint])
    one["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    found = read("kubernetes", written(tmp_path / "cluster.json", listed(one)))
    assert json.loads(found.tables["node"]["taints"][0]) == [taint]


def test_use_without_nodes_and_pods_says_what_to_add(tmp_path: Path) -> None:
    use = series(None, [(1_767_225_600 + 60 * at, 1.0) for at in range(3)], pod="p", namespace="a")
    path = written(tmp_path / "container_cpu_in_use.json", answer(use))
    assert "use_without_lists" in causes(ingest(path, tmp_path / "store").doubts)


def test_preferences_are_no_rules(tmp_path: Path) -> None:
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
    load, (doubt,) = _loaded(
        tmp_path,
        node("n1"),
        pod("web-1", nodeName="n1", affinity={"podAntiAffinity": wish, "nodeAffinity": wish}),
        pod("web-2", nodeName="n1"),
    )
    assert load.facts["containers_with_rules_not_held"] == 0
    assert (doubt.because, doubt.value) == ("preferences_not_held", 1)
    assert doubt.about["rules"] == "nodeAffinity, podAntiAffinity"


def test_pods_that_cannot_be_where_a_file_has_them(tmp_path: Path) -> None:
    big: list[Any] = [container("16")]
    _, (left_out, beyond, full) = _loaded(
        tmp_path,
        node("n1"),
        node("n2"),
        node("n3", allocatable={"cpu": "32", "memory": "32Gi"}),
        pod("big", nodeName="n1", containers=big),
        *(pod(f"web-{at}", nodeName="n2", containers=[container("3")]) for at in range(3)),
        pod("owing", nodeName="n3", containers=[container("-1")]),
    )
    assert (left_out.because, left_out.value) == ("objects_left_out", 1)
    assert (beyond.because, beyond.about["names"]) == ("request_beyond_node", "default/big")
    assert (beyond.about["request"], beyond.about["amount"], beyond.about["resource"]) == (
        16, 8, "cpu",
    )  # fmt: skip
    assert (full.because, full.about["names"]) == ("requests_beyond_nodes", "n1, n2")
    assert (full.about["most_fraction"], full.about["node"]) == (2, "n1")


LOST = json.dumps({"type": "ADDED", "object": pod("lost", nodeName="n9")})
ERROR = json.dumps({"type": "ERROR", "object": {"kind": "Status", "message": "too old"}})


@pytest.mark.parametrize(
    ("more", "left_out"),
    [
        (
            [json.dumps({"type": "ADDED", "object": pod("lost", nodeName="n9")})],
            ["objects_left_out"],
        ),
        (['{"type":"ADDED","obj'], ["objects_cut_off"]),
        (['{"type":"ADDED","object":{"kind":"Pod"}}'], ["objects_cut_off"]),
        ([ERROR], ["watch_errors"]),
        (
            [LOST, "{no", ERROR],
            ["objects_left_out", "objects_cut_off", "watch_errors"],
        ),
    ],
)
def test_only_pods_are_counted_as_pods(
    tmp_path: Path, more: list[str], left_out: list[str]
) -> None:
    """A broken line of a watch log and its error were two pods that are left out."""
    things: list[Object] = [node("n1"), pod("w-1", nodeName="n1")]
    good = [json.dumps({"type": "ADDED", "object": one}) for one in things]
    text = "\n".join([good[0], *more, good[1]])
    doubts = ingest(written(tmp_path / "watch.json", text), tmp_path / "store").doubts
    rejected = [one for one in doubts if one.about.get("table") == "container"]
    assert [(one.because, one.value) for one in rejected] == [(why, 1) for why in left_out]


def test_one_that_came_as_another_went_is_not_too_much(tmp_path: Path) -> None:
    ended = {
        "phase": "Succeeded",
        "containerStatuses": [{"state": {"terminated": {"finishedAt": "2026-01-01T01:00:00Z"}}}],
    }
    later = {"creationTimestamp": "2026-01-01T01:00:00Z"}
    _, doubts = _loaded(
        tmp_path,
        node("n1"),
        pod("before", status=ended, nodeName="n1", containers=[container("8")]),
        pod("after", meta=later, nodeName="n1", containers=[container("8")]),
    )
    assert doubts == ()


def test_two_lives_that_began_in_one_second_are_two(tmp_path: Path) -> None:
    twins = [pod("web-1", meta={"uid": uid}, nodeName="n1") for uid in ("a", "b")]
    load, _ = _loaded(tmp_path, node("n1"), *twins)
    assert sorted(load.container_ids) == ["default/web-1", "default/web-1@b"]


def test_who_evicts_nobody_and_who_is_under_a_budget_is_kept(tmp_path: Path) -> None:
    budget = {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    store = tmp_path / "store"
    listing = listed(
        node("n1"),
        budget,
        pod("web-1", meta={"labels": {"app": "web"}}, nodeName="n1", priority=5),
        pod(
            "job-1",
            meta={"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}},
            nodeName="n1",
            priority=9,
            preemptionPolicy="Never",
        ),
    )
    assert ingest(written(tmp_path / "cluster.json", listing), store).doubts == ()
    load = workload_from_sizes(open_store(store), sized_assumptions([]), stream(0, "test"))
    assert load.evicts_nobody is not None
    assert load.budgets is not None
    assert load.budgets.of.tolist() == [[0] if "web" in one else [-1] for one in load.container_ids]
    never = dict(zip(load.container_ids, load.evicts_nobody.tolist(), strict=True))
    assert never == {"default/web-1": False, "default/job-1": True}
    assert load.never_evicted is not None
    assert load.never_evicted.tolist() == load.evicts_nobody.tolist()
    found = [(one.because, one.value, one.about["names"]) for one in load.remarks]
    assert found == [("budgets", 1, "default/web"), ("budgets_allow_none", 1, "default/web")]
