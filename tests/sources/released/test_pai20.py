"""The tables of Alibaba's GPU trace of 2020."""

from __future__ import annotations

from pathlib import Path

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

GB = 2**30
MACHINES = "7399a758,CPU,96,512,0\n75c536d5,P100,64,512,2\n6265a99d,T4,96,-1,2\n626,T4,96\n"
TASKS = """\
j1,worker,2.0,Terminated,100.0,200.0,600.0,29.296875,50.0,MISC
j1,ps,1.0,Terminated,100.0,200.0,400.0,10.0,,
j2,tensorflow,1.0,Waiting,,,600.0,10.0,100.0,T4
j3,tensorflow,1.0,Running,300.0,,600.0,10.0,100.0,T4
"""
INSTANCES = """\
j1,worker,i1,w1,aa,Terminated,110.0,190.0,75c536d5
j1,worker,i2,w2,aa,Terminated,110.0,,75c536d5
j1,ps,i3,w3,aa,Failed,110.5,120.0,7399a758
j3,tensorflow,i4,w4,bb,Running,310.0,,6265a99d
j2,tensorflow,i5,,cc,Waiting,,,
"""
TAGS = "aa,u1,V100M32,g1,nmt\nbb,u2,,g2,\n"
SENSORS = """\
j1,worker,w1,aa,75c536d5,/dev/nvidia0,140.5,16.0,1.5,2.5,1.25,2.5,21.5,16.5,29.5,34.5
j1,worker,w9,aa,75c536d5,/dev/nvidia0,140.5,16.0,1.5,2.5,1.25,2.5,21.5,16.5,29.5,34.5
"""
METRICS = "w1,75c536d5,110,190,0.0029,3.5,15,87.5,18.25,111649584.5,5.0,18.5\n"


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("pai_machine_spec.csv", MACHINES, "machines"),
        ("pai_task_table.csv", TASKS, "tasks"),
        ("pai_instance_table.csv", INSTANCES, "instances"),
        ("pai_group_tag_table.csv", TAGS, "tags"),
        ("pai_sensor_table.csv", SENSORS, "sensors"),
        ("pai_machine_metric.csv", METRICS, "machine_usage"),
    ],
)
def test_each_table_is_known_by_name_and_lines(
    tmp_path: Path, name: str, text: str, word: str
) -> None:
    assert_known_by_name_and_lines(tmp_path / name, text, ("pai20", word))


def test_a_file_of_names_is_no_table(tmp_path: Path) -> None:
    names = "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n"
    assert recognised(written(tmp_path, "pai_machine_spec.header", names)) == []
    joined = written(tmp_path, "pai_machine_spec.csv", names + MACHINES)
    assert read("pai20", joined).tables["node"].height == 3


def test_machines(tmp_path: Path) -> None:
    got = read("pai20", written(tmp_path, "pai_machine_spec.csv", MACHINES))
    assert got.rows("node", "node", "platform", "labels")[1] == (
        "75c536d5",
        "P100",
        '{"gpu_type": "P100"}',
    )
    assert got.rows("node_resource", "node", "resource", "amount", "unit")[3:6] == [
        ("75c536d5", "cpu", 64.0, "cores"),
        ("75c536d5", "memory", 512.0 * GB, "bytes"),
        ("75c536d5", "gpu", 2.0, "count"),
    ]
    assert got.reasons == [(4, None, "has 3 fields, expected 5")]


def test_instances_with_the_requests_of_their_tasks_and_the_gpus_they_insist_on(
    tmp_path: Path,
) -> None:
    beside = {
        "tasks": (opened(written(tmp_path, "pai_task_table.csv", TASKS)),),
        "tags": (opened(written(tmp_path, "pai_group_tag_table.csv", TAGS)),),
    }
    got = read("pai20", written(tmp_path, "pai_instance_table.csv", INSTANCES), beside)
    insists = '[[{"key": "gpu_type", "operator": "In", "values": ["V100M32"]}]]'
    wanted = ("time_ms", "container", "service", "node", "departure_ms", "selector")
    assert got.rows("container", *wanted) == [
        (110_000, "w1", "j1", "75c536d5", 190_000, insists),
        (110_500, "w3", "j1", "7399a758", 120_000, insists),
        (310_000, "w4", "j3", "6265a99d", None, None),
    ]
    assert got.rows("container_resource", "container", "resource", "request", "unit") == [
        ("w1", "cpu", 6.0, "cores"),
        ("w1", "memory", 29.296875 * GB, "bytes"),
        ("w1", "gpu", 0.5, "count"),
        ("w3", "cpu", 4.0, "cores"),
        ("w3", "memory", 10.0 * GB, "bytes"),
        ("w4", "cpu", 6.0, "cores"),
        ("w4", "memory", 10.0 * GB, "bytes"),
        ("w4", "gpu", 1.0, "count"),
    ]
    assert [(line, column) for line, column, _ in got.reasons] == [(2, "end"), (5, "status")]


def test_tasks_alone_and_tags(tmp_path: Path) -> None:
    got = read("pai20", written(tmp_path, "pai_task_table.csv", TASKS))
    assert got.tables["container"]["container"].to_list() == [
        "j1/worker/0",
        "j1/worker/1",
        "j1/ps/0",
        "j3/tensorflow/0",
    ]
    assert got.reasons == [(3, "status", "is 'Waiting', expected one of what has begun")]
    tags = read("pai20", written(tmp_path, "pai_group_tag_table.csv", TAGS + "ab,c\n"))
    assert (tags.tables, [one.line for one in tags.broken]) == ({}, [3])


def test_use_stands_at_the_beginning_of_an_instance(tmp_path: Path) -> None:
    instances = opened(written(tmp_path, "pai_instance_table.csv", INSTANCES))
    sensors = written(tmp_path, "pai_sensor_table.csv", SENSORS)
    got = read("pai20", sensors, {"instances": (instances,)})
    used = got.tables["container_amount"]
    assert set(used.select("time_ms", "container").rows()) == {(110_000, "w1")}
    assert used.select("resource", "amount", "unit").rows()[:5] == [
        ("cpu", pytest.approx(1.405), "cores"),
        ("gpu", 0.16, "count"),
        ("memory", 1.5 * GB, "bytes"),
        ("memory_max", 2.5 * GB, "bytes"),
        ("gpu_memory", 1.25 * GB, "bytes"),
    ]
    assert [(line, column) for line, column, _ in got.reasons] == [(2, "name")]
    metrics = read("pai20", written(tmp_path, "pai_machine_metric.csv", METRICS))
    found = metrics.tables["node_amount"]
    assert set(found.select("time_ms", "node").rows()) == {(110_000, "75c536d5")}
    amounts = dict(found.select("resource", "amount").rows())
    assert amounts["cpu"] == pytest.approx(0.185)
    assert amounts["containers"] == 5


def test_into_a_store(tmp_path: Path) -> None:
    files = {
        "pai_machine_spec": MACHINES,
        "pai_task_table": TASKS,
        "pai_instance_table": INSTANCES,
        "pai_group_tag_table": TAGS,
        "pai_sensor_table": SENSORS,
        "pai_machine_metric": METRICS,
    }
    found = counts_of(written_all(tmp_path / "trace", files), tmp_path / "store")
    assert found["pai_machine_spec.csv", "node"] == (3, 1, 0)
    assert found["pai_machine_spec.csv", "node_resource"] == (8, 1, 0)
    assert found["pai_instance_table.csv", "container"] == (3, 2, 0)
    assert found["pai_instance_table.csv", "container_resource"] == (8, 0, 0)
    assert found["pai_sensor_table.csv", "container_amount"] == (10, 1, 0)
    assert found["pai_machine_metric.csv", "node_amount"] == (8, 0, 0)


def test_the_real_machines() -> None:
    folder = shared_data("pai20")
    assert recognised(folder / "pai_machine_spec.header") == []
    got = read("pai20", folder / "pai_machine_spec.csv")
    assert got.broken == []
    assert got.tables["node"]["node"].n_unique() == 1897
    sizes = got.tables["node_resource"].pivot("resource", index="node", values="amount")
    kinds = sizes.join(got.tables["node"].select("node", "platform"), on="node")
    found = kinds.group_by("platform", "cpu", pl.col("memory") / GB, "gpu").len()
    assert sorted(found.rows()) == [
        ("CPU", 96.0, 512.0, 0.0, 83),
        ("MISC", 96.0, 512.0, 8.0, 280),
        ("P100", 64.0, 512.0, 2.0, 798),
        ("T4", 96.0, 512.0, 2.0, 497),
        ("V100", 96.0, 384.0, 8.0, 45),
        ("V100", 96.0, 512.0, 8.0, 59),
        ("V100M32", 96.0, 384.0, 8.0, 135),
    ]
