"""The tables of the Alibaba trace of 2017."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from reading_support import (
    assert_known_by_name_and_lines,
    opened,
    read,
    recognised,
    stored,
    written,
    written_all,
)
from store_support import counts_of
from tests_support import shared_data

from tracekit.fetch.plan import plan

MACHINES = """\
0,1148,add,,64,0.69,1
0,1,add,,64,0.7,0.5
50,1,softerror,disk_full,0,0,0
90,1,softerror,disk_full,0,0,0
95,1,harderror,,0,0,0
99,2,gone,,0,0,0
"""
MACHINE_USAGE = "39600,1,20,50,40.5,1.5,2,3\n39600,2,20,,,,,\n"
CONTAINERS = """\
0,Create,10772,85,4,0.0424,0.034,32|33|34|35,
0,Create,10772,85,4,0.9999,0.034,32|33|34|35,
100,Create,2,85,3,0.1,0.03,9|0|1
300,Remove,2,85,3,0.1,0.03,9|0|1
50,Remove,10773,85,3,0.1,0.03,9|0|1
60,Start,10774,85,3,0.1,0.03,9|0|1
"""
CONTAINER_USAGE = "39600,2,20,50,40.5,1.5,2,3,1.1,0.5,1.2,0.6\n39600,9088,20,50,,1,1,1,,,,\n"
TASKS = """\
task_create_time, task_end_time, job_id, task_id,number_of_instances, status, cpus,memory
100,200,3,4,2,Terminated,50,0.0079
-100,50,3,5,1,Terminated,100,0.0043
600,0,4,6,1,Running,50,0.1
600,700,4,7,1,Waiting,,
900,800,4,8,1,Terminated,50,0.1
"""
INSTANCES = """\
110,120,3,4,446,Terminated,1,1,1.01,0.12,0.035,0.031
110,120,3,4,928,Terminated,1,1,1.14,0.13,0.035,0.031
-5,130,,,928,Terminated,2,2,,,,
0,0,3,4,,Ready,,,,,,
"""


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("server_event.csv", MACHINES, "machines"),
        ("server_usage.csv", MACHINE_USAGE, "machine_usage"),
        ("container_event.csv", CONTAINERS, "containers"),
        ("container_usage.csv", CONTAINER_USAGE, "container_usage"),
        ("batch_task.csv", TASKS, "tasks"),
        ("batch_instance.csv", INSTANCES, "instances"),
    ],
)
def test_each_table_is_known_by_name_and_lines(
    tmp_path: Path, name: str, text: str, word: str
) -> None:
    assert_known_by_name_and_lines(tmp_path / name, text, ("alibaba17", word))


def test_an_error_closes_a_machine_and_is_no_size(tmp_path: Path) -> None:
    got = read("alibaba17", written(tmp_path, "server_event.csv", MACHINES))
    assert got.rows("node", "time_ms", "node", "position", "state", "labels") == [
        (0, "1148", 1, "ready", None),
        (0, "1", 2, "ready", None),
        (50_000, "1", 2, "closed", '{"error": "disk_full"}'),
        (95_000, "1", 2, "closed", "{}"),
    ]
    assert got.rows("node_resource", "node", "resource", "amount", "unit") == [
        ("1148", "cpu", 64.0, "cores"),
        ("1148", "memory", 0.69, "fraction"),
        ("1148", "disk", 1.0, "fraction"),
        ("1", "cpu", 64.0, "cores"),
        ("1", "memory", 0.7, "fraction"),
        ("1", "disk", 0.5, "fraction"),
    ]
    assert got.reasons == [(6, "event", "is 'gone', expected add, softerror or harderror")]


def test_use_of_machines_and_containers(tmp_path: Path) -> None:
    got = read("alibaba17", written(tmp_path, "server_usage.csv", MACHINE_USAGE))
    assert got.rows("node_usage", "time_ms", "node", "cpu_fraction", "memory_fraction") == [
        (39_600_000, "1", pytest.approx(0.2), 0.5),
        (39_600_000, "2", pytest.approx(0.2), None),
    ]
    assert got.rows("node_amount", "resource", "amount", "unit") == [
        ("disk", pytest.approx(0.405), "fraction"),
        ("load1", 1.5, "count"),
        ("load5", 2.0, "count"),
        ("load15", 3.0, "count"),
    ]
    got = read("alibaba17", written(tmp_path, "container_usage.csv", CONTAINER_USAGE))
    assert got.rows("container_usage", "service", "container", "cpu_fraction") == [
        ("2", "2", pytest.approx(0.2)),
        ("9088", "9088", pytest.approx(0.2)),
    ]
    of_2 = got.tables["container_amount"].filter(pl.col("container") == "2")
    assert of_2["resource"].to_list() == [
        "disk", "load1", "load5", "load15", "cpi", "mpki", "cpi_max", "mpki_max",
    ]  # fmt: skip


def test_use_has_the_node_that_the_events_state(tmp_path: Path) -> None:
    """It had none, so that nodes held no containers for all who ask."""
    moved = f"{CONTAINERS}400,Create,2,86,3,0.1,0.03,9\n0,Remove,9088,87,3,0.1,0.03,9\n"
    events = written(tmp_path, "container_event.csv", moved)
    usage = written(tmp_path, "container_usage.csv", CONTAINER_USAGE)
    got = read("alibaba17", usage, {"containers": (opened(events),)})
    # of two Create events the first holds, and a Remove alone creates nothing
    assert got.rows("container_usage", "container", "node") == [("2", "85"), ("9088", None)]
    alone = read("alibaba17", usage)
    assert alone.rows("container_usage", "container", "node") == [("2", None), ("9088", None)]


def test_the_nodes_of_use_and_of_containers_agree_in_a_store(tmp_path: Path) -> None:
    files = {"server_event": MACHINES, "container_event": CONTAINERS}
    trace = written_all(tmp_path / "trace", {**files, "container_usage": CONTAINER_USAGE})
    asked = (
        "SELECT u.container, u.node, c.node AS listed FROM container_usage u"
        " LEFT JOIN container c USING (container) ORDER BY 1"
    )
    assert stored(trace, tmp_path, asked) == [("2", "85", "85"), ("9088", None, None)]


def test_containers_with_their_vcpus(tmp_path: Path) -> None:
    got = read("alibaba17", written(tmp_path, "container_event.csv", CONTAINERS))
    wanted = ("time_ms", "container", "service", "node", "departure_ms", "vcpus", "line")
    assert got.rows("container", *wanted) == [
        (0, "10772", "10772", "85", None, "32-35", 1),
        (0, "10772", "10772", "85", None, "32-35", 2),
        (100_000, "2", "2", "85", 300_000, "0-1,9", 3),
    ]
    memory = got.tables["container_resource"].filter(pl.col("resource") == "memory")
    assert memory.select("container", "request").rows() == [("10772", 0.0424), ("2", 0.1)]
    assert got.reasons == [
        (5, "container", "is '10773', expected an instance that was created"),
        (6, "event", "is 'Start', expected Create or Remove"),
    ]


def test_batch_instances(tmp_path: Path) -> None:
    tasks = written(tmp_path, "batch_task.csv", TASKS)
    path = written(tmp_path, "batch_instance.csv", INSTANCES)
    got = read("alibaba17", path, {"tasks": (opened(tasks),)})
    assert got.rows("container", "time_ms", "container", "node", "departure_ms") == [
        (110_000, "3/4/1", "446", 120_000),
        (110_000, "3/4/2", "928", 120_000),
        (0, "//3#2", "928", 130_000),
    ]
    cores = got.tables["container_resource"].filter(pl.col("resource") == "cpu")
    assert cores.select("container", "request").rows() == [("3/4/1", 0.5), ("3/4/2", 0.5)]
    assert got.rows("container_amount", "resource", "amount")[:2] == [
        ("cpu", 0.12),
        ("memory", 0.031),
    ]
    assert got.reasons == [(4, "status", "is 'Ready', expected one of what has begun")]


def test_tasks_without_an_instance_are_told_and_so_are_broken_lines(tmp_path: Path) -> None:
    tasks = written(tmp_path, "batch_task.csv", f"{TASKS}1,2,3\n")
    path = written(tmp_path, "batch_instance.csv", INSTANCES)
    got = read("alibaba17", tasks, {"instances": (opened(path),)})
    assert got.tables == {}
    without = "has no instance in the files beside, expected one: nothing is stored of it"
    assert got.reasons == [
        (7, None, "has 3 fields, expected 8"),
        *((line, "task", without) for line in (3, 4, 5, 6)),
    ]


def test_tasks_alone(tmp_path: Path) -> None:
    got = read("alibaba17", written(tmp_path, "batch_task.csv", TASKS))
    assert got.rows("container", "time_ms", "container", "departure_ms") == [
        (100_000, "3/4/0", 200_000),
        (100_000, "3/4/1", 200_000),
        (0, "3/5/0", 50_000),
        (600_000, "4/6/0", None),
    ]
    asked = got.tables["container_resource"].filter(pl.col("resource") == "memory")
    assert asked["request"].to_list() == [0.0079, 0.0079, 0.0043, 0.1]
    assert [(line, column) for line, column, _ in got.reasons] == [(5, "status"), (6, "departure")]


def test_one_archive_holds_every_table() -> None:
    (one,) = plan("alibaba17")
    assert one.url.endswith("/v2017Traces/alibaba-trace-2017.tar.gz")
    assert plan("alibaba17", tables=["tasks"])[0].path == one.path


def test_into_a_store(tmp_path: Path) -> None:
    files = {
        "server_event": MACHINES,
        "server_usage": MACHINE_USAGE,
        "container_event": CONTAINERS,
        "container_usage": CONTAINER_USAGE,
        "batch_task": TASKS,
        "batch_instance": INSTANCES,
    }
    found = counts_of(written_all(tmp_path / "trace", files), tmp_path / "store")
    assert found["server_event.csv", "node"] == (4, 1, 0)
    assert found["container_event.csv", "container"] == (2, 2, 1)
    assert found["container_event.csv", "container_resource"] == (6, 0, 0)
    assert found["container_usage.csv", "container_usage"] == (2, 0, 0)
    assert found["batch_instance.csv", "container"] == (3, 1, 0)


def test_the_real_machines() -> None:
    got = read("alibaba17", shared_data("alibaba17") / "server_event.csv")
    assert got.broken == []
    sizes = got.tables["node_resource"]
    cpu = sizes.filter(pl.col("resource") == "cpu")
    assert (cpu.height, cpu["node"].n_unique()) == (1313, 1313)
    assert set(cpu["amount"]) == {64.0}
    memory = sizes.filter(pl.col("resource") == "memory")
    found = memory["amount"].round(5).value_counts().sort("count", descending=True).rows()
    assert found[:2] == [(0.68997, 736), (0.69, 365)]
    assert memory["amount"].min() > 0  # type: ignore[operator]
    assert got.tables["node"].filter(pl.col("state") == "closed")["node"].n_unique() == 7


def test_the_real_tasks_and_quoted_rows() -> None:
    folder = shared_data("alibaba17")
    assert recognised(folder / "batch_task.csv") == [("alibaba17", "tasks")]
    instances = read(
        "alibaba17",
        folder / "batch_instance.three_rows.csv",
        {"tasks": (opened(folder / "batch_task.csv"),)},
    )
    assert instances.tables["container"]["node"].to_list() == ["446", "928", "724"]
    assert instances.rows("container_amount", "amount")[0] == (0.12,)
    twice = read("alibaba17", folder / "container_event.two_rows.csv")
    assert twice.tables["container"].select("container", "vcpus").unique().rows() == [
        ("10772", "32-35")
    ]


def test_the_real_tasks_stand_for_their_instances(tmp_path: Path) -> None:
    lines = (shared_data("alibaba17") / "batch_task.csv").read_text().splitlines()[:501]
    got = read("alibaba17", written(tmp_path, "batch_task.csv", "\n".join(lines)))
    rows = [line.split(",") for line in lines[1:]]
    begun = [row for row in rows if row[5] != "Waiting"]
    assert len(got.broken) == len(rows) - len(begun) > 0
    assert got.tables["container"].height == sum(int(row[4]) for row in begun)
    cpu = got.tables["container_resource"].filter(pl.col("resource") == "cpu")
    assert cpu["request"].sum() == pytest.approx(
        sum(int(row[4]) * int(row[6]) / 100 for row in begun if row[6])
    )
