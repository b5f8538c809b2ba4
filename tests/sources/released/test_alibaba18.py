"""The tables of the Alibaba trace of 2018."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from reading_support import (
    assert_known_by_name_and_lines,
    opened,
    read,
    recognised,
    written,
    written_all,
)
from store_support import counts_of
from tests_support import shared_data

from tracekit.ingest import ingest
from tracekit.query import run
from tracekit.store import open_store

MACHINES = """\
m_1,0,219,17,96,100,USING
m_1,50,219,17,96,100,USING
m_1,70,219,,96,100,USING
m_1,90,219,18,96,100,IMPORT
m_2,10,3,4,64,-1,USING
m_3,x,3,4,64,50,USING
m_4,20,3,4,64,50
"""
MACHINE_USAGE = """\
m_1,10,41,92,,,43.04,33.08,5
m_1,20,42,101,50,2,-1,33,101
"""
CONTAINERS = """\
c_2,m_9,30,app_1,started,800,1600,3.13
c_1,m_2556,0,app_5052,started,400,400,1.5
c_1,m_2556,287942,app_5052,started,400,800,1.5
c_1,m_2556,338909,app_5052,stopped,400,800,1.5
,m_1,5,app_1,started,400,400,1
"""
CONTAINER_USAGE = """\
c_1,m_108,696330,20,56,1.5,0.5,2,10,20,2
c_2,m_108,696340,120,-1,,,,0,0,-1
,m_108,696350,20,56,,,,0,0,2
"""
TASKS = """\
M1,2,j_1,1,Terminated,100,200,50,0.5
task_aa==,1,j_2,1,Running,300,0,100,1
R2_1,1,j_1,1,Waiting,0,0,,
"""
INSTANCES = """\
ins_1,M1,j_1,1,Terminated,110,150,m_5,1,1,20,40,0.2,0.3
ins_1,M1,j_1,1,Terminated,120,180,m_6,2,2,30,40,0.2,0.3
ins_2,M9,j_1,1,Running,130,0,m_6,1,1,,,,
ins_3,M1,j_1,1,Failed,130,0,m_6,1,1,,,,
ins_4,M1,j_1,1,Terminated,130,120,m_6,1,1,,,,
ins_5,M1,j_1,1,Waiting,0,0,,1,1,,,,
"""

REQUESTED = ("time_ms", "container", "resource", "request", "limit", "unit")


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("machine_meta.csv", MACHINES, "machines"),
        ("machine_usage.csv", MACHINE_USAGE, "machine_usage"),
        ("container_meta.csv", CONTAINERS, "containers"),
        ("container_usage_0.csv", CONTAINER_USAGE, "container_usage"),
        ("batch_task.csv", TASKS, "tasks"),
        ("batch_instance.csv", INSTANCES, "instances"),
    ],
)
def test_each_table_is_known_by_name_and_lines(
    tmp_path: Path, name: str, text: str, word: str
) -> None:
    assert_known_by_name_and_lines(tmp_path / name, text, ("alibaba18", word))
    assert recognised(written(tmp_path, name, "1,2,3\n")) == []


def test_a_machine_has_a_row_where_something_changes(tmp_path: Path) -> None:
    got = read("alibaba18", written(tmp_path, "machine_meta.csv", MACHINES))
    assert got.rows("node", "time_ms", "node", "position", "state", "domain", "zone") == [
        (0, "m_1", 1, "ready", "219", "17"),
        (90_000, "m_1", 1, "closed", "219", "18"),
        (10_000, "m_2", 5, "ready", "3", "4"),
    ]
    assert got.rows("node_resource", "time_ms", "node", "resource", "amount", "unit") == [
        (0, "m_1", "cpu", 96.0, "cores"),
        (0, "m_1", "memory", 1.0, "fraction"),
        (10_000, "m_2", "cpu", 64.0, "cores"),
    ]
    assert [(one.line, one.reason) for one in got.broken] == [
        (6, "is 'x', expected a number"),
        (7, "has 6 fields, expected 7"),
    ]


def test_abnormal_use_of_a_machine_is_no_value(tmp_path: Path) -> None:
    path = written(tmp_path, "machine_usage.csv", MACHINE_USAGE)
    got = read("alibaba18", path)
    assert got.rows("node_usage", "time_ms", "node", "cpu_fraction", "memory_fraction") == [
        (10_000, "m_1", pytest.approx(0.41), pytest.approx(0.92)),
        (20_000, "m_1", pytest.approx(0.42), None),
    ]
    second = got.tables["node_amount"].filter(pl.col("time_ms") == 20_000)
    assert dict(second.select("resource", "amount").rows()) == {
        "memory_bandwidth": 0.5,
        "mpki": 2.0,
        "net_out": 0.33,
    }


def test_a_container_is_made_of_its_events(tmp_path: Path) -> None:
    path = written(tmp_path, "container_meta.csv", CONTAINERS)
    got = read("alibaba18", path)
    wanted = ("time_ms", "container", "service", "node", "position", "departure_ms")
    assert got.rows("container", *wanted) == [
        (30_000, "c_2", "app_1", "m_9", 1, None),
        (0, "c_1", "app_5052", "m_2556", 2, 338_909_000),
        (5_000, None, "app_1", "m_1", None, None),
    ]
    assert got.rows("container_resource", *REQUESTED) == [
        (30_000, "c_2", "cpu", 8.0, 16.0, "cores"),
        (30_000, "c_2", "memory", 0.0313, None, "fraction"),
        (0, "c_1", "cpu", 4.0, 4.0, "cores"),
        (0, "c_1", "memory", 0.015, None, "fraction"),
        (287_942_000, "c_1", "cpu", 4.0, 8.0, "cores"),
        (287_942_000, "c_1", "memory", 0.015, None, "fraction"),
    ]


def test_use_of_containers(tmp_path: Path) -> None:
    path = written(tmp_path, "container_usage.csv", CONTAINER_USAGE)
    got = read("alibaba18", path)
    assert got.rows(
        "container_usage", "time_ms", "container", "node", "cpu_fraction", "memory_fraction"
    ) == [
        (696_330_000, "c_1", "m_108", 0.2, 0.56),
        (696_340_000, "c_2", "m_108", 1.2, None),
        (696_350_000, None, "m_108", 0.2, 0.56),
    ]
    first = got.tables["container_amount"].filter(pl.col("container") == "c_1")
    assert dict(first.select("resource", "amount").rows()) == {
        "cpi": 1.5,
        "memory_bandwidth": 0.005,
        "mpki": 2.0,
        "net_in": 0.1,
        "net_out": 0.2,
        "disk_io": 0.02,
    }


def test_an_instance_asks_for_what_its_task_asks_for(tmp_path: Path) -> None:
    tasks = written(tmp_path, "batch_task.csv", TASKS)
    path = written(tmp_path, "batch_instance.csv", INSTANCES)
    got = read("alibaba18", path, {"tasks": (opened(tasks),)})
    wanted = ("time_ms", "container", "service", "node", "departure_ms")
    assert got.rows("container", *wanted) == [
        (110_000, "j_1/M1/ins_1", "j_1", "m_5", 150_000),
        (120_000, "j_1/M1/ins_1#2", "j_1", "m_6", 180_000),
        (130_000, "j_1/M9/ins_2", "j_1", "m_6", None),
    ]
    assert got.rows("container_resource", *REQUESTED[:4], "unit") == [
        (110_000, "j_1/M1/ins_1", "cpu", 0.5, "cores"),
        (110_000, "j_1/M1/ins_1", "memory", 0.005, "fraction"),
        (120_000, "j_1/M1/ins_1#2", "cpu", 0.5, "cores"),
        (120_000, "j_1/M1/ins_1#2", "memory", 0.005, "fraction"),
    ]
    assert got.rows("container_amount", "container", "resource", "amount") == [
        ("j_1/M1/ins_1", "cpu", 0.2),
        ("j_1/M1/ins_1", "memory", 0.002),
        ("j_1/M1/ins_1#2", "cpu", 0.3),
        ("j_1/M1/ins_1#2", "memory", 0.002),
    ]
    assert got.reasons == [
        (4, "end", "is '0.0', expected when it ended, since it is not Running"),
        (5, "departure", "is '120000', expected no time before its arrival"),
        (6, "status", "is 'Waiting', expected one of what has begun"),
    ]
    assert read("alibaba18", path).tables["container_resource"].height == 0
    assert read("alibaba18", tasks, {"instances": (opened(path),)}).tables == {}


def test_tasks_alone_stand_for_their_instances(tmp_path: Path) -> None:
    got = read("alibaba18", written(tmp_path, "batch_task.csv", TASKS))
    assert got.rows("container", "time_ms", "container", "node", "departure_ms") == [
        (100_000, "j_1/M1/0", None, 200_000),
        (100_000, "j_1/M1/1", None, 200_000),
        (300_000, "j_2/task_aa==/0", None, None),
    ]
    assert got.tables["container_resource"].height == 6
    assert [one.line for one in got.broken] == [3]


def test_into_a_store(tmp_path: Path) -> None:
    files = {
        "machine_meta": MACHINES,
        "machine_usage": MACHINE_USAGE,
        "container_meta": CONTAINERS,
        "container_usage": CONTAINER_USAGE,
        "batch_task": TASKS,
        "batch_instance": INSTANCES,
    }
    found = counts_of(written_all(tmp_path / "trace", files), tmp_path / "store")
    assert found["machine_meta.csv", "node"] == (3, 2, 0)
    assert found["machine_meta.csv", "node_resource"] == (3, 0, 0)
    assert found["machine_usage.csv", "node_usage"] == (1, 1, 0)
    assert found["container_meta.csv", "container"] == (2, 1, 0)
    assert found["container_usage.csv", "container_usage"] == (1, 2, 0)
    assert found["batch_instance.csv", "container"] == (3, 3, 0)
    assert found["batch_instance.csv", "container_resource"] == (4, 0, 0)


def test_the_real_machines() -> None:
    path = shared_data("alibaba18") / "machine_meta.csv"
    assert recognised(path) == [("alibaba18", "machines")]
    got = read("alibaba18", path)
    assert got.broken == []
    nodes = got.tables["node"]
    counts = nodes.select(pl.col("node", "domain", "zone").drop_nulls().n_unique())
    # the twenty-first spelling of a second domain is none at all
    assert counts.row(0) == (4034, 292, 20)
    sizes = got.tables["node_resource"]
    cores = (
        sizes.filter(pl.col("resource") == "cpu").group_by("node").agg(pl.col("amount").unique())
    )
    assert cores.height == 4034
    assert set(cores["amount"].to_list()[0]) == {96.0}
    assert cores["amount"].list.len().max() == 1
    assert (sizes.filter(pl.col("resource") == "memory")["amount"] == 1).all()


def test_the_real_use_of_sixteen_machines() -> None:
    path = shared_data("alibaba18") / "machine_usage.part.csv"
    assert recognised(path) == [("alibaba18", "machine_usage")]
    got = read("alibaba18", path)
    assert got.tables["node_usage"].height == 100_002
    assert got.tables["node_usage"]["node"].n_unique() == 16
    found = got.tables["node_amount"].group_by("resource").len().sort("resource").rows()
    plain = pl.read_csv(path, has_header=False, infer_schema_length=None)
    abnormal = plain[:, -1].cast(pl.Float64).is_in([-1.0, 101.0]).sum()
    assert dict(found)["disk_io"] == 100_002 - abnormal
    assert abnormal == 16
    assert dict(found)["net_in"] == 100_002
    assert dict(found)["memory_bandwidth"] == 21_677


def test_the_real_use_of_containers_and_their_first_rows() -> None:
    folder = shared_data("alibaba18")
    usage = read("alibaba18", folder / "container_usage.JBinin_testdata.csv")
    assert usage.tables["container_usage"].height == 10_000
    assert usage.tables["container_usage"]["container"].null_count() == 3503
    first = read("alibaba18", folder / "container_meta.three_rows.csv")
    assert first.rows("container", "container", "node", "service") == [
        ("c_1", "m_2556", "app_5052")
    ]
    assert first.rows("container_resource", "request", "limit") == [
        (4.0, 4.0),
        (pytest.approx(0.0156), None),
    ]


def test_zones_and_debris_of_the_real_machines_are_those_of_plain_arrays(tmp_path: Path) -> None:
    real = shared_data("alibaba18") / "machine_usage.part.csv"
    ingest(real, tmp_path / "store")
    found = run(open_store(tmp_path / "store"), "usage/node_profile")
    columns: dict[str, list[tuple[float, float]]] = {}
    seen: set[tuple[str, float]] = set()
    for line in real.read_text().splitlines():
        machine, at, cpu, memory = line.split(",")[:4]
        if (machine, float(at)) not in seen:
            seen.add((machine, float(at)))
            columns.setdefault(machine, []).append((float(cpu) / 100, float(memory) / 100))
    assert found.height == len(columns) == 16
    for row in found.iter_rows(named=True):
        cpu, memory = np.array(columns[row["node"]]).T
        r = float(np.corrcoef(cpu, memory)[0, 1])
        assert row["samples"] == len(cpu)
        assert row["pearson_r"] == pytest.approx(r, abs=1e-9)
        assert row["zone"] == ("A" if r < -0.3 else "C" if r >= 0.3 else "B")
        assert row["debris"] == pytest.approx(float(np.mean(1 - (cpu + memory) / 2)), abs=1e-9)
