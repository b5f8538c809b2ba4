"""The four sets of huawei_vm22, in files made after upstream's description."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest
from reading_support import Reading, read, recognised, stored

from tracekit.ingest import ingest
from tracekit.store import open_store
from tracekit.store.quantities import ABSENT, RECORDED, quantities

NAME = "huawei_vm22"
GB = 1 << 30
MINUTES = 300_000
Row = dict[str, object]

QOS: Row = {
    "instance_id": "vm-a",
    "flavor_group": "F2",
    "vcpus": 4,
    "pod_host": "host-a",
    "times": [0, 1, 1],
    "cpu_util": [0, 25, 50],
    "steal_time": [0, 0, 10],
    "numa_typology": {"cell_id": 1},
}
HOTSPOT: Row = {"host_vcpus": 64, "time_start": 0, "time_end": 600, "vm_util": [0.5, 1.5]}
ONLINE: Row = {"Created_at_point": 2, "memory": 8, "duration_point": 3, "vm_util": [1, 2, 0.5]}
OFFLINE: Row = {
    "pm_id": "pm-a",
    "threshold": 0.7,
    "vcpus": 96,
    "memory": 384,
    "cpu_usage": [[25, 50], [10, 20]],
}


def _written(tmp_path: Path, *rows: Row | str, name: str = "50-1.json") -> Path:
    path = tmp_path / name
    path.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in rows))
    return path


def _read(tmp_path: Path, *rows: Row | str) -> Reading:
    return read(NAME, _written(tmp_path, *rows))


@pytest.mark.parametrize(
    ("row", "word"), [(QOS, "qos"), (HOTSPOT, "hotspot"), (ONLINE, "online"), (OFFLINE, "offline")]
)
def test_the_sets_are_told_by_their_fields(tmp_path: Path, row: Row, word: str) -> None:
    assert recognised(_written(tmp_path, row)) == [(NAME, word)]


def test_a_first_line_may_be_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    row = {**OFFLINE, "cpu_usage": [[12.345] * 300] * 60}
    assert recognised(_written(tmp_path, row)) == [(NAME, "offline")]


def test_quality_of_service(tmp_path: Path) -> None:
    found = _read(tmp_path, QOS, {**QOS, "instance_id": "vm-b", "flavor_group": "F1"})
    assert found.broken == []
    columns = ("container", "position", "node", "priority", "numa_cells")
    assert found.rows("container", *columns) == [
        ("vm-a", 0, "host-a", 0, 1),
        ("vm-b", 1, "host-a", 1, 1),
    ]
    assert found.rows("node", "node") == [("host-a",)]
    assert found.rows("container_resource", "container", "resource", "request", "unit") == [
        ("vm-a", "cpu", 4.0, "cores"),
        ("vm-b", "cpu", 4.0, "cores"),
    ]
    columns = ("time_ms", "container", "resource", "amount", "unit")
    assert found.rows("container_amount", *columns)[:4] == [
        (MINUTES, "vm-a", "cpu", 1.0, "cores"),
        (2 * MINUTES, "vm-a", "cpu", 2.0, "cores"),
        (MINUTES, "vm-a", "steal_time", 0.0, "fraction"),
        (2 * MINUTES, "vm-a", "steal_time", 0.1, "fraction"),
    ]


CELLS = [
    ({"cell_id": 0}, 1),
    ({"cell_id": [0, 1]}, 2),
    ([{"cell_id": 0}, {"cell_id": 1}], 2),
    ({"cell_id": "0"}, 1),
    ({}, None),
    (None, None),
]


@pytest.mark.parametrize(("typology", "cells"), CELLS)
def test_numa_cells_in_every_form(tmp_path: Path, typology: object, cells: int | None) -> None:
    found = _read(tmp_path, {**QOS, "numa_typology": typology})
    assert found.rows("container", "numa_cells") == [(cells,)]


STARTS = [
    (0, 0),
    (1_640_995_200, 1_640_995_200_000),
    (1_640_995_200_000, 1_640_995_200_000),
    ("2022-01-01 00:00:00", 1_640_995_200_000),
    ("2022/01/01 00:00", 1_640_995_200_000),
    ("2022-01-01T08:00:00+08:00", 1_640_995_200_000),
]


@pytest.mark.parametrize(("start", "begin"), STARTS)
def test_hotspots(tmp_path: Path, start: object, begin: int) -> None:
    row = {**HOTSPOT, "time_start": start}
    found = _read(tmp_path, row, row)
    assert found.rows("container", "time_ms", "container", "node") == [
        (begin, "hotspot/50-1/1", "hotspot/50-1"),
        (begin, "hotspot/50-1/2", "hotspot/50-1"),
    ]
    assert found.rows("node_resource", "node", "resource", "amount", "unit") == [
        ("hotspot/50-1", "cpu", 64.0, "cores")
    ]
    assert found.rows("container_amount", "time_ms", "amount", "unit")[:2] == [
        (begin, 0.5, "cores"),
        (begin + MINUTES, 1.5, "cores"),
    ]


def test_online_scheduling(tmp_path: Path) -> None:
    found = _read(tmp_path, ONLINE)
    assert found.rows("container", "time_ms", "departure_ms", "container", "position") == [
        (2 * MINUTES, 5 * MINUTES, "online/50-1/1", 0)
    ]
    assert found.rows("container_resource", "resource", "request", "unit") == [
        ("memory", 8.0 * GB, "bytes")
    ]
    assert found.rows("container_amount", "time_ms", "amount") == [
        (2 * MINUTES, 1.0),
        (3 * MINUTES, 2.0),
        (4 * MINUTES, 0.5),
    ]


USAGES = [
    ([[25, 50], [10, 20]], ["offline/50-1/1/0", "offline/50-1/1/1"]),
    ({"x": [25, 50], "y": [10, 20]}, ["offline/50-1/1/x", "offline/50-1/1/y"]),
    ([25, 50], ["offline/50-1/1"]),
]


@pytest.mark.parametrize(("usage", "vms"), USAGES)
def test_offline_scheduling(tmp_path: Path, usage: object, vms: list[str]) -> None:
    found = _read(tmp_path, {**OFFLINE, "cpu_usage": usage})
    assert found.rows("node_resource", "node", "resource", "amount") == [
        ("offline/50-1/pm-a", "cpu", 96.0),
        ("offline/50-1/pm-a", "memory", 384.0 * GB),
    ]
    assert found.rows("container", "container", "node", "position") == [
        (vm, "offline/50-1/pm-a", at) for at, vm in enumerate(vms)
    ]
    columns = ("time_ms", "container", "resource", "amount", "unit")
    assert found.rows("container_amount", *columns)[:2] == [
        (0, vms[0], "cpu_of_vm", 0.25, "fraction"),
        (MINUTES, vms[0], "cpu_of_vm", 0.5, "fraction"),
    ]


BROKEN: list[tuple[Row, Row | str, str | None, str]] = [
    (QOS, "{", None, "is no JSON: "),
    (QOS, "[1]", None, "is a JSON list, expected an object"),
    (QOS, {**QOS, "instance_id": ""}, "instance_id", "is '', expected a name"),
    (QOS, {**QOS, "pod_host": None}, "pod_host", "is empty, expected a name"),
    (QOS, {**QOS, "vcpus": "many"}, "vcpus", "is 'many', expected a number, 0 or more"),
    (QOS, {**QOS, "vcpus": -1}, "vcpus", "is '-1', expected a number, 0 or more"),
    (QOS, {**QOS, "cpu_util": [1]}, "cpu_util", "has 1 values, expected 3"),
    (QOS, {**QOS, "times": [0, None, 1]}, "times", "is empty at place 1, expected a number"),
    (QOS, {**QOS, "flavor_group": "F3"}, "flavor_group", "is 'F3', expected F1 or F2"),
    (HOTSPOT, {**HOTSPOT, "time_start": "noon"}, "time_start", "is 'noon', expected a date"),
    (ONLINE, {**ONLINE, "duration_point": 4}, "vm_util", "has 3 values, expected 4"),
    (ONLINE, {**ONLINE, "memory": True}, "memory", "is 'True', expected a number, 0 or more"),
    (OFFLINE, {**OFFLINE, "cpu_usage": 5}, "cpu_usage", "is '5', expected a list of numbers"),
]


@pytest.mark.parametrize(("good", "row", "column", "reason"), BROKEN)
def test_broken_rows(
    tmp_path: Path, good: Row, row: Row | str, column: str | None, reason: str
) -> None:
    found = _read(tmp_path, good, row)
    ((line, at, said),) = found.reasons
    assert (line, at) == (2, column)
    assert said.startswith(reason)
    assert set(found.tables["container"]["line"]) == {1}


def test_a_tar_comes_into_a_store(tmp_path: Path) -> None:
    archive = tmp_path / "vm_online_scheduling.tar.gz"
    text = (json.dumps(ONLINE) + "\n").encode()
    with tarfile.open(archive, "w:gz") as packed:
        for name in ("2-1.json", "2-2.json"):
            info = tarfile.TarInfo(f"vm_online_scheduling/{name}")
            info.size = len(text)
            packed.addfile(info, io.BytesIO(text))
    sql = """
        SELECT container, departure_ms, count(*) FROM container
        JOIN container_amount USING (container) GROUP BY ALL ORDER BY ALL
    """
    assert stored(archive, tmp_path, sql) == [
        ("online/2-1/1", 5 * MINUTES, 3),
        ("online/2-2/1", 5 * MINUTES, 3),
    ]


@pytest.mark.parametrize(
    ("row", "recorded", "absent"),
    [
        (
            QOS,
            {"use of containers", "requests", "NUMA cells per container"},
            {"NUMA cells", "bound vCPUs", "use of containers: memory"},
        ),
        (
            OFFLINE,
            {"use of containers: cpu_of_vm", "node sizes", "placement"},
            {"use of containers", "requests", "NUMA cells per container", "bound vCPUs"},
        ),
    ],
)
def test_what_a_store_of_it_records_is_said_once(
    tmp_path: Path, row: Row, recorded: set[str], absent: set[str]
) -> None:
    ingest(_written(tmp_path, row), tmp_path / "store")
    known = quantities(open_store(tmp_path / "store"))
    assert {name for name in recorded if known[name] == RECORDED} == recorded
    assert {name for name in absent if known[name] == ABSENT} == absent
    of_use = {name: kind for name, kind in known.items() if name.startswith("use of containers")}
    assert set(of_use) == {name for name in {*recorded, *absent} if name.startswith("use of")}


def test_steal_time_comes_into_a_store(tmp_path: Path) -> None:
    sql = "SELECT max(amount) FROM container_amount WHERE resource = 'steal_time'"
    assert stored(_written(tmp_path, QOS), tmp_path, sql) == [(0.1,)]
