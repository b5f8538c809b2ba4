"""The sqlite file of azure_packing20."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reading_support import Reading, read, recognised, stored

from tracekit.base.errors import TracekitError
from tracekit.intake.sources.released._azure_packing20_sizes import (
    RESOURCES,
    capacities,
    requests,
    rounded_up,
)

NAME = "azure_packing20"
DAY = 86_400_000
TYPES = [
    # id, vmTypeId, machineId, core, memory, hdd, ssd, nic
    (0, 1, 16, 0.5, 0.25, None, 0.1, 0.2),
    (1, 1, 17, 0.25, 0.25, None, 0.1, 0.1),
    (2, 2, 17, 0.5, 0.125, 0.5, 0, 0.4),
]
VMS = [
    # vmId, tenantId, vmTypeId, priority, starttime, endtime
    (100, 7, 1, 0, -3.5, 2.5),
    (101, 7, 2, 1, 0.25, None),
]


def _file(
    path: Path, types: Sequence[Sequence[object]] = TYPES, vms: Sequence[Sequence[object]] = VMS
) -> Path:
    database = sqlite3.connect(path)
    database.execute(
        "CREATE TABLE vmType (id INTEGER, vmTypeId INTEGER, machineId INTEGER, core REAL,"
        " memory REAL, hdd REAL, ssd REAL, nic REAL)"
    )
    database.execute(
        "CREATE TABLE vm (vmId INTEGER, tenantId INTEGER, vmTypeId INTEGER, priority INTEGER,"
        " starttime REAL, endtime REAL)"
    )
    database.executemany("INSERT INTO vmType VALUES (?,?,?,?,?,?,?,?)", types)
    database.executemany("INSERT INTO vm VALUES (?,?,?,?,?,?)", vms)
    database.commit()
    database.close()
    return path


def _read(tmp_path: Path, **tables: Sequence[Sequence[object]]) -> Reading:
    return read(NAME, _file(tmp_path / "packing_trace_zone_a_v1.sqlite", **tables))


def test_machine_types_are_nodes_of_relative_size(tmp_path: Path) -> None:
    found = _read(tmp_path)
    assert found.broken == []
    assert found.rows("node", "time_ms", "node", "platform", "labels") == [
        (0, "machine-type-16", "16", '{"platform": "16"}'),
        (0, "machine-type-17", "17", '{"platform": "17"}'),
    ]
    sizes = {
        (node, resource): amount
        for node, resource, amount in found.rows("node_resource", "node", "resource", "amount")
    }
    assert sizes == {
        ("machine-type-16", "cpu"): 0.5,
        ("machine-type-16", "memory"): 1.0,
        ("machine-type-16", "ssd"): 1.0,
        ("machine-type-16", "net"): 0.5,
        ("machine-type-17", "cpu"): 1.0,
        ("machine-type-17", "memory"): 1.0,
        ("machine-type-17", "ssd"): 1.0,
        ("machine-type-17", "net"): 1.0,
        ("machine-type-17", "hdd"): 1.0,
    }


def test_vms_have_lives_priorities_requests_and_the_types_they_fit(tmp_path: Path) -> None:
    found = _read(tmp_path)
    columns = ("container", "service", "position", "time_ms", "departure_ms", "priority")
    assert found.rows("container", *columns) == [
        ("100", "7", 0, 0, int(2.5 * DAY), 1.0),
        ("101", "7", 1, DAY // 4, None, 0.0),
    ]
    fits = [json.loads(str(text)) for (text,) in found.rows("container", "selector")]
    assert [one[0][0]["values"] for one in fits] == [["16", "17"], ["17"]]
    assert sorted(found.rows("container_resource", "container", "resource", "request")) == [
        ("100", "cpu", 0.25),
        ("100", "memory", 0.25),
        ("100", "net", 0.1),
        ("100", "ssd", 0.1),
        ("101", "cpu", 0.5),
        ("101", "hdd", 0.5),
        ("101", "memory", 0.125),
        ("101", "net", 0.4),
    ]


@example(sizes=[1.0, 1.0, 7.5], demands=[0.5])
@given(
    sizes=st.lists(st.sampled_from([1.0, 2.0, 4.0, 5.0, 7.5]), min_size=1, max_size=6),
    demands=st.lists(st.sampled_from([0.1, 0.25, 0.3, 0.5, 1.0]), min_size=1, max_size=6),
)
def test_relative_sizes_are_found_where_the_fractions_agree(
    sizes: list[float], demands: list[float]
) -> None:
    """The fractions are made from known sizes, all types fit everywhere: the sizes come back."""
    rows = [
        {
            "vmTypeId": f"v{vm}",
            "machineId": f"m{machine}",
            "line": 1,
            **dict.fromkeys(RESOURCES, demand / size),
        }
        for vm, demand in enumerate(demands)
        for machine, size in enumerate(sizes)
    ]
    types = pl.DataFrame(rows)
    found = capacities(types)
    largest = max(sizes)
    assert found["core"].to_list() == pytest.approx([one / largest for one in sizes], abs=2e-9)
    asked = requests(types, found)
    assert asked["core"].to_list() == pytest.approx([one / largest for one in demands], abs=2e-9)
    room = rounded_up(found)["core"].to_list()
    for size, capacity in zip(sizes, room, strict=True):
        for demand, request in zip(demands, asked["core"], strict=True):
            as_many = int(size / demand + 1e-9)
            assert as_many * round(request * 1e9) <= round(capacity * 1e9)


BROKEN_VMS = [
    ((5, 7, 9, 0, 0.5, 1.0), "vmTypeId", "is '9', expected a vmTypeId of vmType"),
    ((5, 7, 1, 2, 0.5, 1.0), "priority", "is '2', expected 0 or 1"),
    ((5, 7, 1, 0, 0.5, "soon"), "endtime", "is 'soon', expected a number"),
    ((5, 7, 1, 0, None, 1.0), "starttime", "is empty, expected a value"),
    (
        (5, 7, 1, 0, 0.5, 0.25),
        "endtime",
        "is '0.25', expected a time behind the start of VM and trace",
    ),
    (
        (5, 7, 1, 0, -2.0, -1.0),
        "endtime",
        "is '-1.0', expected a time behind the start of VM and trace",
    ),
]


@pytest.mark.parametrize(("row", "column", "reason"), BROKEN_VMS)
def test_broken_vms(tmp_path: Path, row: tuple[object, ...], column: str, reason: str) -> None:
    found = _read(tmp_path, vms=[*VMS, row])
    ((_, at, said),) = found.reasons
    assert (at, said) == (column, reason)
    assert found.broken[0].table == "container"
    assert found.tables["container"].height == 2


BROKEN_TYPES = [
    ((3, 1, 16, -0.5, 0, 0, 0, 0), "core", "is '-0.5', expected a fraction of the machine"),
    ((3, 1, 16, 0.5, "x", 0, 0, 0), "memory", "is 'x', expected a number"),
    ((3, 1, None, 0.5, 0, 0, 0, 0), "machineId", "is empty, expected a value"),
]


@pytest.mark.parametrize(("row", "column", "reason"), BROKEN_TYPES)
def test_broken_types(tmp_path: Path, row: tuple[object, ...], column: str, reason: str) -> None:
    found = _read(tmp_path, types=[*TYPES, row])
    ((line, at, said),) = found.reasons
    assert (line, at) == (4, column)
    assert said.startswith(reason)
    assert found.tables["container"].height == 2


def test_without_types_nothing_has_a_size(tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="vmType has no usable row"):
        _read(tmp_path, types=[])


def test_another_database_is_nobodys(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "other.sqlite")
    database.execute("CREATE TABLE vm (vmId INTEGER)")
    database.commit()
    database.close()
    assert recognised(tmp_path / "other.sqlite") == []


def test_it_comes_into_a_store_also_packed(tmp_path: Path) -> None:
    path = _file(tmp_path / "zone.sqlite")
    packed = tmp_path / "zone.sqlite.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    sql = "SELECT container, request FROM container_resource WHERE resource = 'cpu' ORDER BY ALL"
    for source in (path, packed):
        folder = tmp_path / source.suffix
        folder.mkdir()
        assert stored(source, folder, sql) == [("100", 0.25), ("101", 0.5)]


def test_a_cut_database_is_refused(tmp_path: Path) -> None:
    many = [(vm, 7, 1, 0, 0.5, 1.0) for vm in range(2000)]
    path = _file(tmp_path / "zone.sqlite", vms=many)
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(TracekitError, match=r"zone\.sqlite"):
        stored(path, tmp_path, "SELECT 1")
