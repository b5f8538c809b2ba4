"""Creations and deletions of huawei_east1; the file itself may not be passed on."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_support import Reading, read, recognised, stored

NAME = "huawei_east1"
GB = 1 << 30
HEADER = "vmid,cpu,memory,time,type"


def _written(tmp_path: Path, *lines: str, header: str = HEADER) -> Path:
    path = tmp_path / "Huawei-East-1.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def _events(tmp_path: Path, *lines: str, header: str = HEADER) -> Reading:
    return read(NAME, _written(tmp_path, *lines, header=header))


def test_lives_and_requests(tmp_path: Path) -> None:
    found = _events(tmp_path, "8,2,4,0,0", "9,1,1,30,0", "8,2,4,60,1")
    assert found.broken == []
    assert found.rows("container", "container", "position", "time_ms", "departure_ms") == [
        ("8", 0, 0, 60_000),
        ("9", 1, 30_000, None),
    ]
    assert sorted(found.rows("container_resource", "container", "resource", "request", "unit")) == [
        ("8", "cpu", 2.0, "cores"),
        ("8", "memory", 4.0 * GB, "bytes"),
        ("9", "cpu", 1.0, "cores"),
        ("9", "memory", 1.0 * GB, "bytes"),
    ]


def test_columns_stand_in_any_order_and_beside_an_index(tmp_path: Path) -> None:
    found = _events(tmp_path, "0,0,5,8,2,4", header=",type,time,vmid,cpu,memory")
    assert found.rows("container", "container", "time_ms") == [("8", 5000)]
    assert found.tables["container_resource"]["request"].to_list() == [2.0, 4.0 * GB]


@pytest.mark.parametrize("header", ["vmid,cpu,memory,time", "vmid,cpu,memory,time,type,zone"])
def test_other_columns_are_nobodys(tmp_path: Path, header: str) -> None:
    assert recognised(_written(tmp_path, header=header)) == []


BROKEN = [
    ("7,2,4,5,2", "type", "is '2.0', expected 0 (creation) or 1 (deletion)"),
    ("7,0,4,5,0", "cpu", "is '0.0', expected a size above 0"),
    ("7,2,,5,0", "memory", "is empty, expected a size above 0"),
    ("7,2,4,-5,0", "time", "is '-5.0', expected a second of the trace"),
    ("7,2,4,5,1", "vmid", "is '7', expected a VM that was created"),
    ("8,2,4,5,1", "time", "is '5.0', expected a time behind its creation"),
    ("8,2,4,50,0", "vmid", "is '8', expected an id that comes once with each type"),
    (",2,4,5,0", "vmid", "is empty, expected a value"),
    ("7,two,4,5,0", "cpu", "is 'two', expected a number"),
    ("7,2", None, "has 2 fields, expected 5"),
]


@pytest.mark.parametrize(("line", "column", "reason"), BROKEN)
def test_broken_events(tmp_path: Path, line: str, column: str | None, reason: str) -> None:
    found = _events(tmp_path, "8,2,4,10,0", line, "9,2,4,10,0")
    assert found.reasons == [(3, column, reason)]
    assert found.rows("container", "container", "departure_ms") == [("8", None), ("9", None)]


def test_it_comes_into_a_store(tmp_path: Path) -> None:
    source = _written(tmp_path, "8,2,4,0,0", "8,2,4,60,1", "9,1,1,70,1")
    sql = """
        SELECT container, departure_ms, request, (SELECT count(*) FROM reject) FROM container
        JOIN container_resource USING (container) WHERE resource = 'cpu'
    """
    assert stored(source, tmp_path, sql) == [("8", 60_000, 2.0, 1)]
