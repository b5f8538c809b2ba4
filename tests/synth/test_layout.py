from __future__ import annotations

import tarfile
from pathlib import Path

import polars as pl
import pytest

from tracekit.base.errors import TracekitError
from tracekit.intake.sources import recognise

NODE = ",timestamp,nodeid,node_cpu_usage,node_memory_usage"
CONTAINER = ",msname,msinstanceid,nodeid,instance_cpu_usage,instance_memory_usage,timestamp"
CALL = ",traceid,timestamp,rpcid,um,rpctype,dm,interface,rt"

HEADERS = {
    "Node_0.csv": NODE,
    "MSResource_0.csv": CONTAINER,
    "MSResource_1.csv": CONTAINER,
    "MSRTQps_0.csv": ",timestamp,msname,msinstanceid,metric,value",
    "MSRTQps_1.csv": ",timestamp,msname,msinstanceid,metrics,value",
    "MSRTQps_2.csv": "timestamp,msname,msinstanceid,metric,value",
    "MSRTQps_3.csv": ",timestamp,msname,msinstanceid,metric,value",
    "MSRTQps_4.csv": ",timestamp,msname,msinstanceid,metric,value",
    "MSCallGraph_0.csv": CALL,
    "MSCallGraph_1.csv": CALL,
}
TABLES = {
    "Node": "node_usage",
    "MSResource": "container_usage",
    "MSRTQps": "service_rate",
    "MSCallGraph": "call",
}


@pytest.mark.parametrize("name", HEADERS)
def test_the_known_release_recognises_every_header(name: str) -> None:
    match = recognise(HEADERS[name].split(","))

    assert not isinstance(match, TracekitError)
    assert match.format.table == TABLES[name.partition("_")[0]]


@pytest.mark.parametrize(
    ("archive", "members"),
    [
        ("MSResource/MSResource_0", ["MSResource_0", "MSResource_0/MSResource_0.csv"]),
        ("MSResource/MSResource_1", ["MSResource_1.csv"]),
        ("node/Node_0", ["Node_0.csv"]),
    ],
)
def test_one_archive_holds_its_file_in_a_folder(
    tiny: Path, archive: str, members: list[str]
) -> None:
    with tarfile.open(tiny / f"{archive}.tar.gz") as tar:
        assert tar.getnames() == members
        assert {(info.mtime, info.uid, info.uname) for info in tar} == {(1_591_923_600, 0, "")}


@pytest.mark.parametrize("name", [name for name in HEADERS if HEADERS[name].startswith(",")])
def test_the_index_counts_lines(tiny_lines: dict[str, list[str]], name: str) -> None:
    numbers = [line.split(",")[0] for line in tiny_lines[name][1:]]

    assert numbers == [str(number) for number in range(len(numbers))]


def test_no_truth_table_can_be_taken_for_a_table_of_the_trace(tiny: Path) -> None:
    truths = sorted((tiny / "truth").glob("*.parquet"))
    assert [path.stem for path in truths] == [
        "binding",
        "call",
        "container",
        "defect",
        "node",
        "service",
        "trace",
    ]
    for path in truths:
        result = recognise(list(pl.read_parquet_schema(path)))
        assert isinstance(result, TracekitError)
        assert "table" in result.what
