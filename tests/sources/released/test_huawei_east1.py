"""Creations and deletions of huawei_east1; the file itself may not be passed on."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_support import Reading, read, recognised, stored

from tracekit.errors import TracekitError

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
    ("7,2,4,5,2", "type", "is '2', expected 0 (creation) or 1 (deletion)"),
    ("7,0,4,5,0", "cpu", "is '0', expected a size above 0"),
    ("7,2,,5,0", "memory", "is empty, expected a size above 0"),
    ("7,2,4,-5,0", "time", "is '-5', expected a second of the trace"),
    ("7,2,4,5,1", "vmid", "is '7', expected a VM that was created"),
    ("8,2,4,5,1", "time", "is '5', expected a time behind its creation"),
    ("8,2,4,50,0", "vmid", "is '8', expected an id that comes once with each type"),
    (",2,4,5,0", "vmid", "is empty, expected a value"),
    ("7,two,4,5,0", "cpu", "is 'two', expected a number"),
    ("7,nan,4,5,0", "cpu", "is 'nan', expected a number"),
    ("7,2,4,1700000000000,0", "time", "is '1700000000000', expected seconds, no milliseconds"),
    ("7,2000,4,5,0", "cpu", "is '2000', expected less than 1,000 cores"),
    ("7,2,4096,5,0", "memory", "is '4096', expected less than 128 GB per core"),
    ("7,2", None, "has 2 fields, expected 5"),
]


@pytest.mark.parametrize(("line", "column", "reason"), BROKEN)
def test_broken_events(tmp_path: Path, line: str, column: str | None, reason: str) -> None:
    found = _events(tmp_path, "8,2,4,10,0", line, "9,2,4,10,0")
    assert found.reasons == [(3, column, reason)]
    assert found.broken[0].text == line
    assert found.rows("container", "container", "departure_ms") == [("8", None), ("9", None)]


UNITS = [
    (("1,2000,4,0,0", "2,4000,8,10,0"), "cpu is in cores, but 2 of 2", "millicores"),
    (("1,2000,4096,0,0", "2,4000,8192,10,0"), "cpu is in cores, but 2 of 2", "millicores"),
    (("1,4,4096,0,0", "2,8,8192,5,0", "3,2,4,5,0"), "memory is in GB, but 2 of 3", "MB"),
    ((f"1,4,{4 * GB},0,0", f"2,8,{8 * GB},10,0"), "memory is in GB, but 2 of 2", "bytes"),
]


@pytest.mark.parametrize(("lines", "what", "likely"), UNITS)
def test_sizes_in_another_unit_are_refused_with_the_likely_one(
    tmp_path: Path, lines: tuple[str, ...], what: str, likely: str
) -> None:
    with pytest.raises(TracekitError, match=what) as told:
        _events(tmp_path, *lines)
    assert told.value.hint == f"it looks like {likely}; nothing of the file was taken in"


def test_it_comes_into_a_store(tmp_path: Path) -> None:
    source = _written(tmp_path, "8,2,4,0,0", "8,2,4,60,1", "9,1,1,70,1")
    sql = """
        SELECT container, departure_ms, request, (SELECT count(*) FROM reject) FROM container
        JOIN container_resource USING (container) WHERE resource = 'cpu'
    """
    assert stored(source, tmp_path, sql) == [("8", 60_000, 2.0, 1)]
