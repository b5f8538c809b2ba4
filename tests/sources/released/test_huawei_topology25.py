"""The servers, requests and racks of huawei_topology25, as CSV and as workbooks."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cluster_support import workload
from reading_support import Reading, opened, read, recognised, stored
from tests_support import shared_data

from tracekit.errors import TracekitError
from tracekit.ingest import ingest
from tracekit.replay.engine.engine import Engine
from tracekit.replay.fast.choose import rows_placer
from tracekit.replay.policy.parse import parse_policy
from tracekit.store import open_store

NAME = "huawei_topology25"
GB = 1 << 30
HEADER = "flavor_vcpus,flavor_ram,numa,strategy,group,domain"


def _written(tmp_path: Path, name: str, *lines: str) -> Path:
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


def _requests(tmp_path: Path, *lines: str, name: str = "vm_data_c1.csv") -> Reading:
    return read(NAME, _written(tmp_path, name, HEADER, *lines))


def test_a_server_has_its_two_cells_and_their_sum(tmp_path: Path) -> None:
    path = _written(tmp_path, "pm_res.csv", "CPU1,RAM1,CPU2,RAM2", "16,32,30,64", "4,7,0,0")
    found = read(NAME, path)
    assert found.rows("node", "node", "position") == [("server-0000", 0), ("server-0001", 1)]
    first = {
        (resource, cell): (amount, unit)
        for node, resource, cell, amount, unit in found.rows(
            "node_resource", "node", "resource", "cell", "amount", "unit"
        )
        if node == "server-0000"
    }
    assert first == {
        ("cpu", None): (46.0, "cores"),
        ("memory", None): (96.0 * GB, "bytes"),
        ("cpu", "0"): (16.0, "cores"),
        ("memory", "0"): (32.0 * GB, "bytes"),
        ("cpu", "1"): (30.0, "cores"),
        ("memory", "1"): (64.0 * GB, "bytes"),
    }
    assert found.broken == []


STRATEGIES = [
    ("8,16,1,,,", (1.0, None, None, None)),
    ("8,16,2,nan,nan,nan", (2.0, None, None, None)),
    ("8,16,1,anti-affinity,7,", (1.0, "c1/anti-affinity/7", "c1/anti-affinity/7", "node")),
    ("8,16,2,affinity,3,", (2.0, "c1/affinity/3", None, None)),
    ("8,16,1,fault_domain,4,2", (1.0, "c1/fault_domain/4/2", None, None)),
]


@pytest.mark.parametrize(("line", "expected"), STRATEGIES)
def test_strategies(tmp_path: Path, line: str, expected: tuple[object, ...]) -> None:
    found = _requests(tmp_path, line)
    columns = ("numa_cells", "service", "apart", "apart_domain")
    assert found.rows("container", *columns) == [expected]
    assert found.rows("container_resource", "container", "resource", "request", "unit") == [
        ("c1/0000", "cpu", 8.0, "cores"),
        ("c1/0000", "memory", 16.0 * GB, "bytes"),
    ]


def test_requests_keep_their_order_and_say_which_problem_they_are_of(tmp_path: Path) -> None:
    for name, problem in (("vm_data_c2.csv", "c2"), ("VM_data_C5.csv", "c5"), ("mine.csv", "mine")):
        found = _requests(tmp_path, "8,16,1,,,", "4,8,1,,,", name=name)
        assert found.rows("container", "time_ms", "container", "position") == [
            (0, f"{problem}/0000", 0),
            (0, f"{problem}/0001", 1),
        ]


def test_fault_domains_of_one_group_share_no_server(tmp_path: Path) -> None:
    found = _requests(
        tmp_path, *(f"8,16,1,fault_domain,{group},{domain}" for group, domain in
                    ((0, 0), (0, 2), (0, 0), (1, 1), (2, 1), (2, 0)))
    )  # fmt: skip
    assert found.rows("sharing_rule", "holder", "guest", "most", "line") == [
        ("c1/fault_domain/0/0", "c1/fault_domain/0/2", 0, 3),
        ("c1/fault_domain/0/2", "c1/fault_domain/0/0", 0, 3),
        ("c1/fault_domain/2/0", "c1/fault_domain/2/1", 0, 7),
        ("c1/fault_domain/2/1", "c1/fault_domain/2/0", 0, 7),
    ]


BROKEN = [
    ("8,16,3,,,", "numa", "is '3.0', expected 1 or 2"),
    ("8,16,,,,", "numa", "is empty, expected a number"),
    (",16,1,,,", "flavor_vcpus", "is empty, expected a number"),
    ("eight,16,1,,,", "flavor_vcpus", "is 'eight', expected a number"),
    (
        "8,16,1,near,1,",
        "strategy",
        "is 'near', expected affinity or anti-affinity or fault_domain or none",
    ),
    ("8,16,1,affinity,,", "group", "is empty, expected the number of the group"),
    ("8,16,1,fault_domain,1,", "domain", "is empty, expected the number of the fault domain"),
    ("8,16,1", None, "has 3 fields, expected 6"),
]


@pytest.mark.parametrize(("line", "column", "reason"), BROKEN)
def test_broken_requests(tmp_path: Path, line: str, column: str | None, reason: str) -> None:
    found = _requests(tmp_path, "8,16,1,,,", line, "4,8,1,,,")
    assert found.reasons == [(3, column, reason)]
    assert found.rows("container", "container") == [("c1/0000",), ("c1/0002",)]


def test_hosts_have_racks(tmp_path: Path) -> None:
    path = _written(
        tmp_path, "topology_provider.csv", "host_id,rack_id", "host-0,0.0", "host-1,", "host-2,3"
    )
    found = read(NAME, path)
    assert found.rows("node", "node", "rack") == [("host-0", "rack-0"), ("host-2", "rack-3")]
    assert found.reasons == [(3, "rack_id", "is empty, expected a value")]
    beside = read(NAME, path, {"servers": (opened(path),)})
    assert (beside.tables, beside.reasons) == ({}, found.reasons)


def _workbook(path: Path, rows: list[list[str | float]]) -> Path:
    """The least that a workbook is made of; texts stand in their cells."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"

    def cell(at: str, value: str | float) -> str:
        if isinstance(value, str):
            return f'<c r="{at}" t="inlineStr"><is><t>{value}</t></is></c>' if value else ""
        return f'<c r="{at}"><v>{value}</v></c>'

    lines = "".join(
        f'<row r="{row}">'
        + "".join(cell(f"{chr(65 + at)}{row}", one) for at, one in enumerate(some))
        + "</row>"
        for row, some in enumerate(rows, 1)
    )
    members = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1"'
        f' Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/worksheet" Target="sheet1.xml"/></Relationships>',
        "xl/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>',
    }  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return path


def _need_excel() -> None:
    pytest.importorskip("fastexcel", reason="the extra 'excel' is not installed")


def test_a_workbook_is_read_as_the_csv_is_also_with_numbers_as_text(tmp_path: Path) -> None:
    _need_excel()
    lines: list[list[str | float]] = [
        list(HEADER.split(",")),
        [8, 16, 1, "affinity", 0, ""],
        ["32", "64", "2", "fault_domain", "1", "0"],
        [4, "8", 1, "", "", ""],
    ]
    text = [",".join(str(one) for one in line) for line in lines[1:]]
    plain = _requests(tmp_path, *text, name="vm_data_c4.csv")
    found = read(NAME, _workbook(tmp_path / "VM_data_C4.xlsx", lines))
    assert found.broken == []
    for table in ("container", "container_resource"):
        assert found.tables[table].equals(plain.tables[table])


def test_without_the_library_a_workbook_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _workbook(tmp_path / "PM_res.xlsx", [["CPU1", "RAM1", "CPU2", "RAM2"], [1, 2, 3, 4]])
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(TracekitError, match="no library that reads workbooks") as caught:
        read(NAME, path)
    assert "tracekit[excel]" in (caught.value.hint or "")


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    _need_excel()
    path = tmp_path / "PM_res.xlsx"
    path.write_bytes(b"PK\x03\x04 no zip")
    with pytest.raises(TracekitError, match=r"PM_res.xlsx: a workbook that cannot be read"):
        read(NAME, path)


def test_another_workbook_is_nobodys(tmp_path: Path) -> None:
    assert recognised(_workbook(tmp_path / "salaries.xlsx", [["a"], [1]])) == []


def test_it_comes_into_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "c1"
    folder.mkdir()
    _written(folder, "pm_res.csv", "CPU1,RAM1,CPU2,RAM2", "16,32,30,64")
    _written(folder, "vm_data_c1.csv", HEADER, "8,16,2,,,", "4,8,1,affinity,1,")
    sql = """
        SELECT container, numa_cells, request, service, 0 FROM container
        JOIN container_resource USING (container) WHERE resource = 'cpu'
        UNION ALL
        SELECT node, NULL, amount, cell, 1 FROM node_resource WHERE resource = 'cpu'
        ORDER BY 5, 1, 4 NULLS FIRST
    """
    assert stored(folder, tmp_path, sql) == [
        ("c1/0000", 2.0, 8.0, None, 0),
        ("c1/0001", 1.0, 4.0, "c1/affinity/1", 0),
        ("server-0000", None, 46.0, None, 1),
        ("server-0000", None, 16.0, "0", 1),
        ("server-0000", None, 30.0, "1", 1),
    ]


REAL = [("c1", 216, 1173), ("c2", 261, 1087), ("c3", 233, 1104)]


@pytest.mark.parametrize(("problem", "groups", "spread"), REAL)
def test_the_real_requests(problem: str, groups: int, spread: int) -> None:
    found = read(NAME, shared_data(NAME) / f"vm_data_{problem}.csv")
    assert found.broken == []
    containers = found.tables["container"]
    assert containers.height == 4998
    assert found.tables["container_resource"].height == 2 * 4998
    in_domains = containers["service"].str.extract(r"fault_domain/(\d+)/").drop_nulls()
    assert (in_domains.n_unique(), in_domains.len()) == (groups, spread)


def test_the_real_servers_have_the_published_totals() -> None:
    found = read(NAME, shared_data(NAME) / "pm_res.csv")
    sizes = found.tables["node_resource"]
    assert found.tables["node"].height == 1710
    summed = sizes.group_by("resource", "cell").agg(pl.col("amount").sum())
    totals = {
        (resource, cell): total / (GB if resource == "memory" else 1)
        for resource, cell, total in summed.iter_rows()
    }
    assert totals == {
        ("cpu", "0"): 85582,
        ("memory", "0"): 140576,
        ("cpu", "1"): 56274,
        ("memory", "1"): 121928,
        ("cpu", None): 85582 + 56274,
        ("memory", None): 140576 + 121928,
    }


def test_the_real_workbooks_are_the_converted_tables() -> None:
    folder = shared_data(NAME)
    _need_excel()
    for workbook, plain in (
        ("PM_res.xlsx", "pm_res.csv"),
        ("VM_data_C1.xlsx", "vm_data_c1.csv"),
        ("topology_provider.xls", "topology_provider.csv"),
    ):
        one, other = read(NAME, folder / workbook), read(NAME, folder / plain)
        assert one.broken == []
        assert all(one.tables[table].equals(rows) for table, rows in other.tables.items())


def test_the_real_racks() -> None:
    nodes = read(NAME, shared_data(NAME) / "topology_provider.csv").tables["node"]
    assert (nodes.height, nodes["rack"].n_unique()) == (17_387, 1_024)


@pytest.mark.parametrize(("problem", "left"), [("c1", 5), ("c2", 0), ("c3", 64)])
def test_the_real_problems_are_replayed_cell_by_cell(
    tmp_path: Path, problem: str, left: int
) -> None:
    """Without groups first fit places all, and best fit by cell leaves what was counted apart."""
    folder = tmp_path / problem
    folder.mkdir()
    for name in ("pm_res.csv", f"vm_data_{problem}.csv"):
        (folder / name).symlink_to(shared_data(NAME) / name)
    ingest(folder, tmp_path / "store")
    load = workload(open_store(tmp_path / "store"), "groups=none")
    assert (load.containers, load.nodes) == (4998, 1710)
    for policy, waiting in (("first_fit", 0), ("best_fit_cell", left)):
        engine = Engine(load, parse_policy(policy), np.random.default_rng(0), placer=rows_placer)
        assert np.count_nonzero(engine.run().node < 0) == waiting
