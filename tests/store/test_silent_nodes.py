"""Nodes of which nothing is recorded, where the use of others is, are no room and no saving."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import listed, node, pod, written
from series_support import as_range, at_times
from tests_support import the

import tracekit
from tracekit.intake.ingest import ingest

_GIB = 1 << 30


def _folder(tmp_path: Path, used: tuple[int, ...]) -> Path:
    """Six nodes with a container on n1 and n2, and use beside containers on some nodes."""
    mine = tmp_path / "mine"
    mine.mkdir()
    nodes = "".join(f"n{at},8000,{32 * _GIB}\n" for at in range(6))
    written(mine / "nodes.csv", f"node,cpu_milli,memory_bytes\n{nodes}")
    ran = "".join(f"c{at},web,n{at},0,1000,{_GIB}\n" for at in (1, 2))
    header = "container,service,node,arrival_ms,cpu_milli,memory_bytes\n"
    written(mine / "containers.csv", header + ran)
    beside = "".join(f"{60_000 * at},n{one},2000,{_GIB}\n" for one in used for at in range(10))
    if used:
        written(mine / "background.csv", f"time_ms,node,cpu_milli,memory_bytes\n{beside}")
    return mine


@pytest.mark.slow
def test_nodes_that_nothing_is_known_of_are_set_aside(tmp_path: Path) -> None:
    """Of n3, n4 and n5 nothing is known; n2 has a container, and no use of its own."""
    store = tmp_path / "store"
    doubts = ingest(_folder(tmp_path, (0, 1)), store).doubts
    run = tracekit.replay(store, policies=["first_fit"], out=tmp_path / "run")
    assert run.workload.nodes.count == 3
    for facts in (doubts, run.workload.provenance.remarks):
        silent, partly = the(facts, "node_silent"), the(facts, "node_without_use")
        assert (silent.value, silent.about["of"]) == (3, 6)
        assert (partly.value, partly.about["of"]) == (1, 3)
    study = tracekit.nodes(store, policies=["most_allocated"], out=tmp_path / "fewest")
    assert study.about["nodes"] == 3
    assert study.about["workload"]["nodes_set_aside"] == 3
    assert study.about["workload"]["nodes_without_own_use"] == 1


@pytest.mark.parametrize("used", [(), tuple(range(6))], ids=["of none", "of all"])
def test_where_the_use_of_all_or_none_is_recorded_all_count(
    tmp_path: Path, used: tuple[int, ...]
) -> None:
    assert ingest(_folder(tmp_path, used), tmp_path / "store").doubts == ()
    run = tracekit.replay(tmp_path / "store", policies=["first_fit"], out=tmp_path / "run")
    assert run.workload.nodes.count == 6


@pytest.mark.slow
def test_a_node_without_a_pod_is_empty_where_kubectl_listed_all_pods(tmp_path: Path) -> None:
    """The exporter runs on n0 alone; n1 has a pod, and n2 has none and can go."""
    mine = tmp_path / "mine"
    mine.mkdir()
    nodes = [node(f"n{at}") for at in range(3)]
    written(mine / "list.json", listed(*nodes, pod("web-1", nodeName="n1")))
    made = [("node_cpu_in_use", {"node": "n0"}, at_times(*[1.0] * 9)),
            ("node_memory_in_use", {"node": "n0"}, at_times(*[1e9] * 9))]  # fmt: skip
    written(mine / "nodes.json", as_range(made))
    (doubt,) = ingest(mine, tmp_path / "store").doubts
    assert (doubt.because, doubt.value, doubt.about["of"]) == ("node_without_use", 2, 3)
    run = tracekit.replay(tmp_path / "store", policies=["first_fit"], out=tmp_path / "run")
    assert run.workload.nodes.count == 3
