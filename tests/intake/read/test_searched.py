"""What a folder holds besides files: links are followed once, all else is named."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from tests_support import NODE_HEADER, TraceFolder, node_lines

from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run
from tracekit.intake.read.discover import discover


def found(folder: Path) -> tuple[list[str], dict[str, str]]:
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
    names, others = found(traces.path)
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
        assert found(traces.path)[1] == {
            "device.csv": "is a device", "pipe.csv": "is a pipe", "socket": "is a socket",
        }  # fmt: skip
    assert run(["ingest", str(traces.path), str(tmp_path / "store")]) == 0
    assert "pipe.csv" in capsys.readouterr().out
    with pytest.raises(TracekitError):
        discover(traces.path / "pipe.csv")
    with pytest.raises(TracekitError, match="/dev/null"):
        discover(Path("/dev/null"))
