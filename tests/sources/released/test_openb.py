"""The node and pod lists of openb, and that they are what the replay's own loader reads."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from reading_support import opened, read, recognised, written
from store_support import counts_of
from tests_support import shared_data

from tracekit.errors import TracekitError
from tracekit.replay.workload.loaders import load_workload
from tracekit.seeds import stream
from tracekit.sources import Batch, ClusterFile
from tracekit.sources.released.openb import SOURCE

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
node-0,32000,262144,0,
node-1,96000,786432,8,V100M32
node-2,-1,786432,8,G3
node-3,96000,much,8,G3
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-a,12000,16384,1,460,V100M16|V100M32,LS,Running,100,250,100
pod-b,6000,12288,0,0,,BE,Pending,50,90,
pod-c,6000,12288,8,1000,,BE,Running,100,100,100
pod-d,6000,12288,8,1000,,BE,Running,100,99,100
pod-e,6000,12288
"""


def test_nodes(tmp_path: Path) -> None:
    path = written(tmp_path, "openb_node_list_all_node.csv", NODES)
    assert recognised(path) == [("openb", "nodes")]
    got = read("openb", path)
    assert got.rows("node", "time_ms", "node", "position", "platform", "labels")[:2] == [
        (0, "node-0", 2, None, None),
        (0, "node-1", 3, "V100M32", '{"gpu_model": "V100M32"}'),
    ]
    assert got.rows("node_resource", "node", "resource", "amount", "unit", "line")[:6] == [
        ("node-0", "cpu", 32.0, "cores", 2),
        ("node-0", "memory", 262_144.0 * 2**20, "bytes", 2),
        ("node-0", "gpu", 0.0, "count", 2),
        ("node-1", "cpu", 96.0, "cores", 3),
        ("node-1", "memory", 786_432.0 * 2**20, "bytes", 3),
        ("node-1", "gpu", 8.0, "count", 3),
    ]
    assert got.reasons == [(5, "memory_mib", "is 'much', expected a number")]


def test_pods_in_order_of_creation(tmp_path: Path) -> None:
    path = written(tmp_path, "openb_pod_list_default.csv", PODS)
    assert recognised(path) == [("openb", "pods")]
    got = read("openb", path)
    rule = '[[{"key": "gpu_model", "operator": "In", "values": ["V100M16", "V100M32"]}]]'
    wanted = ("time_ms", "container", "position", "departure_ms", "selector", "line")
    assert got.rows("container", *wanted) == [
        (50_000, "pod-b", 0, 90_000, None, 3),
        (100_000, "pod-a", 1, 250_000, rule, 2),
        (100_000, "pod-c", 2, 100_000, None, 4),
    ]
    assert got.rows("container_resource", "container", "resource", "request", "unit") == [
        ("pod-a", "cpu", 12.0, "cores"),
        ("pod-a", "memory", 16_384.0 * 2**20, "bytes"),
        ("pod-a", "gpu", 0.46, "count"),
        ("pod-b", "cpu", 6.0, "cores"),
        ("pod-b", "memory", 12_288.0 * 2**20, "bytes"),
        ("pod-c", "cpu", 6.0, "cores"),
        ("pod-c", "memory", 12_288.0 * 2**20, "bytes"),
        ("pod-c", "gpu", 8.0, "count"),
    ]
    assert got.reasons == [
        (6, None, "has 3 fields, expected 11"),
        (5, "deletion_time", "is '99', expected no time before creation_time"),
    ]


@pytest.mark.parametrize("at", [0, 1])
def test_two_lists_are_two_traces(tmp_path: Path, at: int) -> None:
    file: ClusterFile = SOURCE.files[at]
    texts = [NODES, PODS]
    lists = tuple(opened(written(tmp_path, name, texts[at])) for name in ("a.csv", "b.csv"))
    one = opened(tmp_path / "a.csv", {file.word: lists})
    with pytest.raises(TracekitError, match=f"2 lists of {file.word}, .*: a.csv, b.csv"):
        next(file.read(one))
    alone = opened(tmp_path / "a.csv", {file.word: lists[:1]})
    assert any(isinstance(batch, Batch) for batch in file.read(alone))


def test_into_a_store(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    written(tmp_path / "trace", "nodes.csv", NODES)
    written(tmp_path / "trace", "pods.csv", PODS)
    assert counts_of(tmp_path / "trace", tmp_path / "store") == {
        ("nodes.csv", "node"): (3, 1, 0),
        ("nodes.csv", "node_resource"): (8, 1, 0),
        ("pods.csv", "container"): (3, 2, 0),
        ("pods.csv", "container_resource"): (8, 0, 0),
    }


def test_the_real_lists_are_what_the_loader_reads() -> None:
    folder = shared_data("openb")
    workload = load_workload(f"openb:{folder}", stream(0, "workload"), assume=["gpu=count"])
    nodes = read("openb", folder / "openb_node_list_all_node.csv")
    pods = read("openb", folder / "openb_pod_list_default.csv")
    assert nodes.broken == pods.broken == []
    assert tuple(nodes.tables["node"]["node"]) == workload.node_ids
    assert len(workload.node_ids) == 1523
    containers = pods.tables["container"].sort("position")
    assert tuple(containers["container"]) == workload.container_ids
    assert containers.height == 8152
    assert containers["time_ms"].to_list() == workload.arrival_ms.tolist()
    names = {"cpu": 1000, "memory": 1, "gpu": 1000}
    for at, (resource, factor) in enumerate(names.items()):
        sizes = nodes.tables["node_resource"].filter(pl.col("resource") == resource)
        assert (sizes["amount"] * factor).to_list() == workload.capacity[:, at].tolist()
        asked = pods.tables["container_resource"].filter(pl.col("resource") == resource)
        asked = containers.join(asked, on="container", how="left", maintain_order="left")
        found = (asked["request"].fill_null(0) * factor).round(6).to_list()
        assert found == workload.request[:, at].tolist()
