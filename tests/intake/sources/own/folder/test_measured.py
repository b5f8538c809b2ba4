"""Units that a folder's tables state: brought into those of the store, or rejects."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_support import workload, written
from reading_support import opened, read
from reading_support import written as written_file

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

GIB = 2**30
HEAD = "node,resource,amount,unit"
NODE = ["node,zone", "n1,a", "n2,b"]
CONTAINERS = ["container,time_ms,service,node", *(f"c{at},0,s,n1" for at in range(9))]
REQUESTS = [
    "container,time_ms,resource,request,limit,unit",
    *(f"c{at},0,cpu,4,,cores" for at in range(9)),
    *(f"c{at},0,memory,1,2,gib" for at in range(9)),
]


@pytest.mark.parametrize(
    ("row", "amount", "unit"),
    [
        ("cpu,8000,millicores", 8.0, "cores"),
        ("cpu,8000,m", 8.0, "cores"),
        ("cpu,8,vCPUs", 8.0, "cores"),
        ("memory,16,GiB", 16.0 * GIB, "bytes"),
        ("memory,16,gib", 16.0 * GIB, "bytes"),
        ("memory,16,Gi", 16.0 * GIB, "bytes"),
        ("memory,1.5,KB", 1500.0, "bytes"),
        ("memory,2,TB", 2e12, "bytes"),
        ("memory,0.5,fraction", 0.5, "fraction"),
        ("net,10,Gbit/s", 1e7, "kbit/s"),
        ("net,1000,bytes/s", 8.0, "kbit/s"),
        ("net_in,1,MB/s", 1e6, "bytes/s"),
        ("net_in,8,Mbit/s", 1e6, "bytes/s"),
        ("gpu,2,cards", 2.0, "cards"),
        ("hugepages,1,GiB", float(GIB), "bytes"),
    ],
)
def test_amounts_are_stored_in_one_unit(tmp_path: Path, row: str, amount: float, unit: str) -> None:
    path = written_file(tmp_path, "node_resource.csv", f"{HEAD}\nn1,{row}\n")
    found = read("folder", path)
    assert not found.broken
    ((stated, of),) = found.rows("node_resource", "amount", "unit")
    assert (float(str(stated)), of) == (amount, unit)


@pytest.mark.parametrize(
    ("rows", "line", "reason"),
    [
        (
            ["memory,16,gigs"],
            2,
            (
                "is 'gigs', expected a unit of memory: bytes, KB, MB, GB, TB, KiB, MiB, GiB, TiB or"
                " fraction"
            ),
        ),
        (
            ["cpu,8,bytes"],
            2,
            "is 'bytes', expected a unit of cpu: cores, millicores or fraction",
        ),
        (
            ["gpu,2,count", "gpu,2,cards"],
            3,
            "is 'cards', expected count, in which a row before states gpu",
        ),
    ],
)
def test_a_unit_that_is_none_is_a_reject(
    tmp_path: Path, rows: list[str], line: int, reason: str
) -> None:
    lines = [HEAD, *(f"n{at},{row}" for at, row in enumerate(rows)), ""]
    found = read("folder", written_file(tmp_path, "node_resource.csv", "\n".join(lines)))
    assert found.reasons == [(line, "unit", reason)]


def test_files_and_ingests_state_a_resource_in_one_unit(tmp_path: Path) -> None:
    sizes = [HEAD, "n1,gpu,2,cards", f"n1,memory,{GIB},bytes"]
    asked = [REQUESTS[0], "c1,0,gpu,1,,count", "c1,0,memory,1,,MiB"]
    files = {
        "node.csv": NODE,
        "node_resource.csv": sizes,
        "container.csv": CONTAINERS,
        "container_resource.csv": asked,
    }
    ingest(written(tmp_path / "one", files), tmp_path / "store")
    later = {"node_resource_2.csv": [HEAD, "n2,gpu,2,count", "n2,memory,1,GiB"]}
    ingest(written(tmp_path / "two", later), tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        rejects = database.frame("SELECT source_file, line, reason FROM reject ORDER BY 1").rows()
        units = database.frame(
            "SELECT resource, unit FROM node_resource UNION"
            " SELECT resource, unit FROM container_resource ORDER BY 1"
        ).rows()
    said = "is 'count', expected cards, in which"
    assert rejects == [
        ("container_resource.csv", 2, f"{said} node_resource.csv states gpu"),
        ("node_resource_2.csv", 2, f"{said} the store states gpu"),
    ]
    assert units == [("gpu", "cards"), ("memory", "bytes")]


def test_rates_of_wide_files_are_in_the_unit_of_tables(tmp_path: Path) -> None:
    head = "container,time_ms,cpu_milli,net_bytes_per_s,net_in_kbit_per_s"
    path = written_file(tmp_path, "usage.csv", f"{head}\na,0,500,1000,8\n")
    rows = read("folder", path).rows("container_amount", "resource", "amount", "unit")
    assert sorted(rows) == [
        ("cpu", 0.5, "cores"),
        ("net", 8.0, "kbit/s"),
        ("net_in", 1000.0, "bytes/s"),
    ]


def test_wide_files_state_units_by_their_columns(tmp_path: Path) -> None:
    wide = {"nodes.csv": ["node,cpu_milli,memory_bytes,gpu", f"n1,8000,{16 * GIB},2"]}
    tall = {"node_resource_2.csv": [HEAD, "n1,gpu,2,cards", "n1,nvme,2,slots"]}
    ingest(written(tmp_path / "one", {**wide, **tall}), tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        rejects = database.frame("SELECT line, reason FROM reject").rows()
    assert rejects == [(2, "is 'cards', expected count, in which nodes.csv states gpu")]
    later = {"nodes_3.csv": ["node,cpu_milli,memory_bytes,nvme", f"n3,8000,{16 * GIB},2"]}
    with pytest.raises(TracekitError) as raised:
        ingest(written(tmp_path / "two", later), tmp_path / "store")
    assert "nvme is nvme in count, but the store states nvme in slots" in str(raised.value)


def test_equal_sizes_in_two_units_are_no_contradiction(tmp_path: Path) -> None:
    first = written_file(tmp_path, "node_resource.csv", f"{HEAD}\nn1,memory,16,GiB\n")
    later = written_file(tmp_path, "node_resource_2.csv", f"{HEAD}\nn1,memory,{16 * GIB},bytes\n")
    beside = {"node_resource": (opened(first), opened(later))}
    assert not read("folder", later, beside).broken


def test_a_replay_has_nodes_of_two_units_alike(tmp_path: Path) -> None:
    sizes = [
        HEAD,
        *("n1,cpu,8,cores", "n1,memory,16,GiB"),
        *("n2,cpu,8000,millicores", f"n2,memory,{16 * GIB},bytes"),
    ]
    files = {
        "node.csv": NODE,
        "node_resource.csv": sizes,
        "container.csv": CONTAINERS,
        "container_resource.csv": REQUESTS,
    }
    ingest(written(tmp_path / "one", files), tmp_path / "store")
    load = workload(open_store(tmp_path / "store"))
    assert load.capacity[:, :2].tolist() == [[8000, 16 * GIB]] * 2
    assert load.request[:, :2].tolist() == [[4000, GIB]] * 9
