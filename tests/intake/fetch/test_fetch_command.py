from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fetch_support import NODE, Mirror, serving, stall
from tests_support import NODE_HEADER, csv_text, node_lines, tar_gz

from tracekit.commands.shell import run


def test_json_and_table(
    mirror: Mirror, tmp_path: Path, node: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["fetch", "ctm21", str(tmp_path), "--tables", "node", "--base-url", mirror.base_url]
    assert run([*call, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/fetch/1"
    assert document["size_bytes"] == len(node)
    assert [(file["path"], file["outcome"]) for file in document["files"]] == [(NODE, "fetched")]
    assert run(call) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert NODE in said.out


def test_what_is_fetched_can_be_ingested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tar_gz(tmp_path / "a.tar.gz", {"Node_0.csv": csv_text(NODE_HEADER, node_lines())})
    with serving({NODE: (tmp_path / "a.tar.gz").read_bytes()}) as mirror:
        out, store = str(tmp_path / "out"), str(tmp_path / "store")
        options = ["--tables", "node", "--base-url", mirror.base_url]
        assert run(["fetch", "ctm21", out, *options]) == 0
    assert run(["ingest", out, store, "--json"]) == 0
    document = json.loads(capsys.readouterr().out.split("STORE\n")[1])
    assert [entry["table"] for entry in document["ingested"]] == ["node_usage"]
    assert document["passed_over"] == []


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_interrupted_fetch_ends_at_once_and_is_resumed(
    mirror: Mirror, tmp_path: Path, node: bytes, sign: signal.Signals, code: int
) -> None:
    release = threading.Event()
    mirror.tricks[NODE] = [stall(300_000, release)]
    call = ["fetch", "ctm21", str(tmp_path), "--tables", "node", "--base-url", mirror.base_url]
    process = subprocess.Popen(
        [sys.executable, "-m", "tracekit", *call], stderr=subprocess.PIPE, text=True
    )
    part = tmp_path / "node" / ".Node_0.tar.gz.part"
    while not (part.exists() and part.stat().st_size == 300_000):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(sign)
    _, said = process.communicate(timeout=20)
    release.set()
    assert process.returncode == code
    assert said.startswith("error: interrupted") or sign == signal.SIGKILL
    assert not (tmp_path / NODE).exists()
    assert run(call) == 0
    assert mirror.ranges(NODE) == [None, "bytes=300000-"]
    assert (tmp_path / NODE).read_bytes() == node
