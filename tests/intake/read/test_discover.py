from __future__ import annotations

import gzip
import os
import socket
from pathlib import Path

import pytest
from tests_support import NODE_HEADER, TraceFolder, csv_text, node_lines

from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run
from tracekit.intake.read.discover import discover, natural


def test_a_folder_gives_its_tables_and_names_what_is_none(traces: TraceFolder) -> None:
    (traces.path / "README.md").write_text("# about\n")
    (traces.path / ".hidden.csv").write_text("x")
    discovery = discover(traces.path)
    assert [(file.name, file.match.format.table) for file in discovery.files] == [
        ("MSCallGraph_0.csv", "call"),
        ("MSRTQps_0.csv", "service_rate"),
        ("MSResource_0.csv", "container_usage"),
        ("Node_0.csv", "node_usage"),
    ]
    assert [name for name, _ in discovery.passed_over] == ["README.md"]


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
    discovery = discover(tmp_path)
    assert sorted(file.name for file in discovery.files) == sorted(ODD_NAMES)


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


# What a folder holds besides files: links are followed once, all else is named.


def listed(folder: Path) -> tuple[list[str], dict[str, str]]:
    discovery = discover(folder)
    return [file.name for file in discovery.files], dict(discovery.passed_over)


def test_linked_folders_are_searched_once(traces: TraceFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    elsewhere = TraceFolder(tmp_path / "elsewhere" / "deep")
    elsewhere.write("Node_5.csv", NODE_HEADER, node_lines(4, 5))
    links = {
        "a_link": tmp_path / "elsewhere",
        "b_again": tmp_path / "elsewhere" / "deep",
        "c_loop": traces.path,
        "d_above": tmp_path,
        "e_inside": traces.path / "sub",
        "nowhere": tmp_path / "gone",
    }
    (traces.path / "sub").mkdir()
    TraceFolder(traces.path / "sub").write("Node_6.csv", NODE_HEADER, node_lines(5, 6))
    for name, target in links.items():
        (traces.path / name).symlink_to(target)
    (tmp_path / "elsewhere" / "back").symlink_to(traces.path)
    (traces.path / "Node_7.csv").symlink_to(traces.path / "Node_0.csv")
    names, others = listed(traces.path)
    assert [name for name in names if "Node" in name] == [
        "Node_0.csv", "Node_7.csv", "a_link/deep/Node_5.csv", "sub/Node_6.csv",
    ]  # fmt: skip
    again = "is a link to a folder that is searched already"
    nowhere = "is a link that leads nowhere (No such file or directory)"
    assert others == {
        **dict.fromkeys(["a_link/back", "b_again", "c_loop", "d_above", "e_inside"], again),
        "nowhere": nowhere,
    }


def test_pipes_sockets_and_devices_are_named(
    traces: TraceFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    os.mkfifo(traces.path / "pipe.csv")
    (traces.path / "device.csv").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as made:
        # the path of a socket may not be long
        monkeypatch.chdir(traces.path)
        made.bind("socket")
        assert listed(traces.path)[1] == {
            "device.csv": "is a device", "pipe.csv": "is a pipe", "socket": "is a socket",
        }  # fmt: skip
    assert run(["ingest", str(traces.path), str(tmp_path / "store")]) == 0
    assert "pipe.csv" in capsys.readouterr().out
    with pytest.raises(TracekitError):
        discover(traces.path / "pipe.csv")
    with pytest.raises(TracekitError, match="/dev/null"):
        discover(Path("/dev/null"))
