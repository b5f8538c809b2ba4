"""The files of Tianchi 2018, and that they are what the replay's own loader reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from reading_support import opened, read, recognised
from store_support import counts_of
from tests_support import shared_data
from workload_support import TIANCHI, written, zipped

from tracekit.errors import TracekitError
from tracekit.replay.workload.loaders import load_workload
from tracekit.seeds import stream
from tracekit.sources import Opened

GIB = 2**30
STEP = 900_000
WORDS = {
    "app_resources.csv": "apps",
    "machine_resources.csv": "machines",
    "instance_deploy.csv": "instances",
    "app_interference.csv": "rules",
}


def beside(folder: Path) -> dict[str, tuple[Opened, ...]]:
    return {word: (opened(folder / name),) for name, word in WORDS.items()}


def test_every_file_is_known_by_its_lines(tmp_path: Path) -> None:
    written(tmp_path, TIANCHI)
    for name, word in WORDS.items():
        assert recognised(tmp_path / name) == [("tianchi18", word)]
    assert recognised(zipped(tmp_path / "b.zip", TIANCHI)) == [("tianchi18", "zip")]
    assert recognised(zipped(tmp_path / "other.zip", {"a.csv": ["app_1,2"]})) == []
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04")
    assert recognised(tmp_path / "cut.zip") == []


def test_nodes_containers_and_rules(tmp_path: Path) -> None:
    written(tmp_path, TIANCHI)
    nodes = read("tianchi18", tmp_path / "machine_resources.csv")
    assert nodes.rows("node", "node", "position", "state")[0] == ("machine_1", 1, "ready")
    assert nodes.rows("node_resource", "node", "resource", "amount", "unit")[12:] == [
        ("machine_3", "cpu", 8.0, "cores"),
        ("machine_3", "memory", 16.0 * GIB, "bytes"),
        ("machine_3", "disk", 200.0 * GIB, "bytes"),
        ("machine_3", "p", 7.0, "count"),
        ("machine_3", "m", 7.0, "count"),
        ("machine_3", "pm", 9.0, "count"),
    ]
    containers = read("tianchi18", tmp_path / "instance_deploy.csv", beside(tmp_path))
    assert containers.rows("container", "container", "service", "node", "position") == [
        ("inst_1", "app_1", "machine_1", 1),
        ("inst_2", "app_1", "machine_1", 2),
        ("inst_3", "app_2", "machine_3", 3),
        ("inst_4", "app_2", None, 4),
        ("inst_5", "app_1", "machine_2", 5),
    ]
    rules = read("tianchi18", tmp_path / "app_interference.csv", beside(tmp_path))
    assert rules.rows("sharing_rule", "holder", "guest", "most") == [
        ("app_1", "app_1", 1.0),
        ("app_1", "app_2", 0.0),
    ]


def test_a_container_follows_its_applications_curve(tmp_path: Path) -> None:
    written(tmp_path, TIANCHI)
    got = read("tianchi18", tmp_path / "app_resources.csv", beside(tmp_path))
    asked = got.tables["container_resource"].filter(pl.col("container") == "inst_3")
    assert asked.select("resource", "request", "unit").rows() == [
        ("cpu", 2.0, "cores"),
        ("memory", 4.0 * GIB, "bytes"),
        ("disk", 60.5 * GIB, "bytes"),
        ("p", 1.0, "count"),
        ("m", 0.0, "count"),
        ("pm", 1.0, "count"),
    ]
    used = got.tables["container_amount"].filter(pl.col("container") == "inst_5")
    cpu = used.filter(pl.col("resource") == "cpu").sort("time_ms")
    assert cpu.select("time_ms", "amount", "unit").rows() == [
        (0, 0.5, "cores"),
        (STEP, 1.25, "cores"),
        (2 * STEP, 0.25, "cores"),
    ]
    with pytest.raises(TracekitError, match="no file says which instances"):
        read("tianchi18", tmp_path / "app_resources.csv")


BROKEN = [
    ("instance_deploy.csv", "inst_9,app_7,machine_1", "container", "app", "is 'app_7'"),
    ("instance_deploy.csv", "inst_9,app_1,machine_9", "container", "node", "is 'machine_9'"),
    ("app_interference.csv", "app_1,app_9,1", "sharing_rule", "guest", "is 'app_9'"),
    ("app_interference.csv", "app_1,app_2,x", "sharing_rule", "most", "is 'x'"),
    ("app_resources.csv", "app_3,1|1,1|1|1,4,0,0,0", "container_resource", "cpu", "is '1|1'"),
    ("app_resources.csv", "app_3,1|1|1,1|x|1,4,0,0,0", "container_resource", "memory", "is '1|x"),
    ("app_resources.csv", "app_3,1|1|-1,1|1|1,4,0,0,0", "container_resource", "cpu", "is '1|1|-"),
    ("app_resources.csv", "app_1,1|1|1,1|1|1,4,0,0,0", "container_resource", "app", "is 'app_1'"),
    ("machine_resources.csv", "machine_4,4,8", "node", None, "has 3 fields"),
]


@pytest.mark.parametrize(("name", "line", "table", "column", "reason"), BROKEN)
def test_what_is_refused(
    tmp_path: Path, name: str, line: str, table: str, column: str | None, reason: str
) -> None:
    written(tmp_path, {**TIANCHI, name: [*TIANCHI[name], line]})
    (one,) = read("tianchi18", tmp_path / name, beside(tmp_path)).broken
    assert (one.table, one.line, one.column) == (table, len(TIANCHI[name]) + 1, column)
    assert one.reason.startswith(reason)


def test_a_zip_holds_it_all(tmp_path: Path) -> None:
    written(tmp_path, TIANCHI)
    got = read("tianchi18", zipped(tmp_path / "b.zip", TIANCHI))
    for name in WORDS:
        alone = read("tianchi18", tmp_path / name, beside(tmp_path))
        for table, rows in alone.tables.items():
            assert got.tables[table].equals(rows)
    twice = zipped(tmp_path / "c.zip", {**TIANCHI, "more.csv": TIANCHI["app_interference.csv"]})
    with pytest.raises(
        TracekitError, match=r"two files of rules: .*app_inter.*\.csv and .*more\.csv"
    ):
        read("tianchi18", twice)
    data = (tmp_path / "b.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[:-30])
    with pytest.raises(TracekitError, match=r"cut\.zip cannot be unpacked"):
        read("tianchi18", tmp_path / "cut.zip")


def test_into_a_store(tmp_path: Path) -> None:
    found = counts_of(zipped(tmp_path / "b.zip", TIANCHI), tmp_path / "store")
    assert {table: rows for (_, table), (rows, *_) in found.items()} == {
        "node": 3,
        "node_resource": 18,
        "container": 5,
        "container_resource": 30,
        "container_amount": 30,
        "sharing_rule": 2,
    }
    assert all(counts[1:] == (0, 0) for counts in found.values())


@pytest.mark.slow
def test_the_real_zip_is_what_the_loader_reads() -> None:
    folder = shared_data("tianchi18")
    (path,) = folder.glob("*.zip")
    workload = load_workload(f"tianchi18:{path}", stream(0, "workload"), assume=["arrival=start"])
    got = read("tianchi18", path)
    assert got.broken == []
    assert tuple(got.tables["node"]["node"]) == workload.node_ids
    assert len(workload.node_ids) == 6000
    containers = got.tables["container"].sort("position")
    assert containers.height == 68_224
    assert containers["node"].null_count() == 6_970
    place = {name: at for at, name in enumerate(workload.container_ids)}
    order = np.array([place[name] for name in containers["container"]])
    assert [workload.services[at] for at in order[:50]] == containers["service"][:50].to_list()
    factors = {"cpu": 1000, "memory": 1, "disk": 1, "p": 1, "m": 1, "pm": 1}
    short = {"cpu": "cpu_milli", "memory": "memory_bytes", "disk": "disk_bytes"}
    for resource, factor in factors.items():
        name = short.get(resource, resource)
        if name not in workload.resources:
            continue
        column = workload.resources.index(name)
        sizes = got.tables["node_resource"].filter(pl.col("resource") == resource)
        assert np.allclose(sizes["amount"] * factor, workload.capacity[:, column], atol=1e-6)
        asked = got.tables["container_resource"].filter(pl.col("resource") == resource)
        asked = containers.join(asked, on="container", how="left", maintain_order="left")
        amounts = np.ceil(asked["request"].to_numpy() * factor - 1e-6)
        assert (amounts == workload.request[order, column]).all()
    used = got.tables["container_amount"].filter(pl.col("container") == "inst_40570")
    cpu = used.filter(pl.col("resource") == "cpu").sort("time_ms")
    assert cpu.height == 98
    assert np.allclose(cpu["amount"] * 1000, workload.usage[0, :, place["inst_40570"]])
    assert got.tables["container_amount"].height == 68_224 * 98 * 2
    assert got.tables["sharing_rule"].height == 33_416
