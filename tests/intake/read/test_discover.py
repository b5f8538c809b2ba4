from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests_support import NODE_HEADER, TraceFolder, csv_text, node_lines

from tracekit.base.errors import TracekitError
from tracekit.intake.read.discover import discover, natural


def test_a_folder_gives_its_tables_and_names_what_is_none(traces: TraceFolder) -> None:
    (traces.path / "README.md").write_text("# about\n")
    (traces.path / ".hidden.csv").write_text("x")
    found = discover(traces.path)
    assert [(file.name, file.match.format.table) for file in found.files] == [
        ("MSCallGraph_0.csv", "call"),
        ("MSRTQps_0.csv", "service_rate"),
        ("MSResource_0.csv", "container_usage"),
        ("Node_0.csv", "node_usage"),
    ]
    assert [name for name, _ in found.passed_over] == ["README.md"]


def test_part_ten_follows_part_nine() -> None:
    names = ["MSResource_10.csv", "MSResource_9.csv", "MSResource_1.csv"]
    assert sorted(names, key=natural) == [
        "MSResource_1.csv",
        "MSResource_9.csv",
        "MSResource_10.csv",
    ]


def test_a_table_without_a_column_stops_even_beside_good_ones(traces: TraceFolder) -> None:
    traces.write("Node_1.csv", ",timestamp,nodeid,cpu_used,node_memory_usage", ["0,a,0.5,0.5"])
    with pytest.raises(TracekitError):
        discover(traces.path)


ODD_NAMES = [
    "0²0.csv",
    "a[1].csv",
    "what?.csv",
    "*.csv",
    "two\nlines.csv",
    "\x1b[31mred.csv",
    "'.csv",
]


def test_any_file_name_will_do(tmp_path: Path) -> None:
    for name in ODD_NAMES:
        (tmp_path / name).write_text(csv_text(NODE_HEADER, node_lines()))
    found = discover(tmp_path)
    assert sorted(file.name for file in found.files) == sorted(ODD_NAMES)


PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time
pod-a,12000,16384,1,460,,LS,Running,100,250
"""


def test_two_problems_in_a_folder_are_named_and_not_merged(tmp_path: Path) -> None:
    for name in ("default", "cpu050", "cpu100"):
        (tmp_path / f"openb_pod_list_{name}.csv").write_text(PODS)
    with pytest.raises(TracekitError):
        discover(tmp_path)
    assert len(discover(tmp_path / "openb_pod_list_default.csv").files) == 1


def test_a_list_and_the_same_in_gzip_are_one(tmp_path: Path) -> None:
    (tmp_path / "openb_pod_list_default.csv").write_text(PODS)
    with gzip.open(tmp_path / "openb_pod_list_default.csv.gz", "wt") as packed:
        packed.write(PODS)
    assert len(discover(tmp_path).files) == 2


def test_a_column_that_is_there_twice_is_named(tmp_path: Path) -> None:
    header = "timestamp,timestamp,nodeid,node_cpu_usage,node_memory_usage"
    (tmp_path / "Node_1.csv").write_text(f"{header}\n0,0,n1,0.5,0.5\n")
    with pytest.raises(TracekitError):
        discover(tmp_path / "Node_1.csv")
