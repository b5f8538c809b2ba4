"""Job logs in the Standard Workload Format: comments, -1 for unknown, pools of processors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from reading_support import read, recognised
from tests_support import shared_data

from tracekit.ingest import ingest
from tracekit.query import Database
from tracekit.store import open_store

HEADER = """; Version: 2.2
; Computer: Made-up 7
; MaxNodes: 4 (thin ones)
; MaxProcs: 32
; UnixStartTime: 749458803
;"""
FULL = "7 60 5 100 8 50.5 1024 4 200 2048 1 3 1 9 1 1 -1 -1"
BARE = "8   90  -1   -1    2  -1  -1   -1  -1   -1 -1 4 1 -1 -1 -1 -1 -1"


def _log(folder: Path, *jobs: str, header: str = HEADER) -> Path:
    path = folder / "made-up.swf"
    path.write_text("\n".join([header, *jobs]) + "\n")
    return path


def test_a_job_is_a_container_as_wide_as_its_processors(tmp_path: Path) -> None:
    path = _log(tmp_path, FULL, BARE)
    assert recognised(path) == [("swf", "log")]
    found = read("swf", path)
    assert found.broken == []
    assert found.rows("container", "container", "service", "time_ms", "departure_ms", "line") == [
        ("7", "executable-9", 60_000, 160_000, 7),
        ("8", None, 90_000, 91_000, 8),
    ]
    assert found.rows("container_resource", "container", "resource", "request", "unit") == [
        ("7", "cpu", 8.0, "cores"),
        ("7", "memory", 2048 * 1024 * 8.0, "bytes"),
        ("8", "cpu", 2.0, "cores"),
    ]
    assert found.rows("container_amount", "container", "time_ms", "resource", "amount") == [
        ("7", 60_000, "cpu", pytest.approx(50.5 / 100 * 8)),
        ("7", 60_000, "memory", 1024 * 1024 * 8.0),
    ]


def test_nodes_are_those_of_the_header_where_every_job_fits_one(tmp_path: Path) -> None:
    found = read("swf", _log(tmp_path, FULL, BARE))
    assert found.rows("node_resource", "node", "resource", "amount", "unit") == [
        (f"node-{at}", "cpu", 8.0, "cores") for at in range(4)
    ]
    assert json.loads(found.tables["node"]["labels"][0])["UnixStartTime"] == "749458803"


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (HEADER, [("pool", 32.0)]),
        ("; MaxProcs: 32", [("pool", 32.0)]),
        ("; MaxProcs: 64", [("node-0", 64.0)]),
        ("; MaxNodes: 2\n; MaxProcs: 128", [("node-0", 64.0), ("node-1", 64.0)]),
    ],
)
def test_one_pool_stands_for_nodes_that_a_job_does_not_fit(
    tmp_path: Path, header: str, wanted: list[tuple[str, float]]
) -> None:
    wide = FULL.replace(" 8 50.5", " 33 50.5")
    found = read("swf", _log(tmp_path, wide, header=header))
    assert found.rows("node_resource", "node", "amount") == wanted


def test_a_log_that_does_not_say_has_no_nodes(tmp_path: Path) -> None:
    assert "node" not in read("swf", _log(tmp_path, FULL, header="; Note: none")).tables


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        ("7 60 5", None, "has 3 fields, expected 18"),
        (FULL.replace("60", "x", 1), "submit_s", "is 'x', expected a number"),
        (FULL.replace("60", "inf", 1), "submit_s", "is 'inf', expected a finite number"),
        (FULL.replace("60", "nan", 1), "submit_s", "is 'nan', expected a number"),
        (FULL.replace("60", "-5", 1), "submit_s", "is '-5.0', expected 0 or more"),
        (FULL.replace("60", "-1", 1), "submit_s", "is empty, expected when it was submitted"),
        (
            BARE.replace(" 2 ", " -1 ", 1),
            "requested_processors",
            "is empty, expected 1 or more, requested or allocated",
        ),
    ],
)
def test_a_broken_line_is_told(tmp_path: Path, line: str, column: str | None, reason: str) -> None:
    found = read("swf", _log(tmp_path, FULL, line, BARE))
    assert found.reasons == [(8, column, reason)]
    assert found.rows("container", "container", "line") == [("7", 7), ("8", 9)]


def test_the_second_line_of_a_job_asks_for_nothing(tmp_path: Path) -> None:
    twice = FULL.replace(" 8 50.5", " 12 50.5").replace("60", "80", 1)
    found = read("swf", _log(tmp_path, FULL, twice, BARE))
    assert len(found.rows("container", "container")) == 3  # the store counts the second
    asked = found.tables["container_resource"].filter(pl.col("container") == "7")
    assert asked["line"].unique().to_list() == [7]
    assert 8 not in found.tables["container_amount"]["line"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("log.txt", f"{HEADER}\n{FULL}\n"), ("log.swf", "; Note: x\n1 2 3\n"), ("log.swf", "")],
)
def test_another_file_is_no_log(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert recognised(path) == []


def test_jobs_in_a_store(tmp_path: Path) -> None:
    path = tmp_path / "made-up.swf.gz"
    path.write_bytes(gzip.compress(_log(tmp_path, FULL, BARE, "9 1").read_bytes()))
    ingest(path, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        asked = "SELECT container, time_ms, departure_ms FROM container ORDER BY ALL"
        assert database.frame(asked).rows() == [("7", 60_000, 160_000), ("8", 90_000, 91_000)]
        assert database.frame('SELECT "table", line FROM reject').rows() == [("container", 9)]
        assert database.frame("SELECT sum(amount) FROM node_resource").item() == 32


def test_the_real_log() -> None:
    path = shared_data("swf") / "NASA-iPSC-1993-3.1-cln.swf.gz"
    found = read("swf", path)
    jobs = [
        [float(field) for field in line.split()]
        for line in gzip.decompress(path.read_bytes()).decode().splitlines()
        if not line.startswith(";")
    ]
    assert found.broken == []
    assert found.tables["container"].height == len(jobs) == 18_239
    cores = found.tables["container_resource"].filter(resource="cpu")["request"]
    assert cores.to_list() == [job[4] for job in jobs]
    assert found.rows("node_resource", "node", "amount") == [("pool", 128.0)]
    life = found.tables["container"].select(
        life=(found.tables["container"]["departure_ms"] - found.tables["container"]["time_ms"])
    )
    assert life["life"].to_list() == [max(job[3], 1) * 1000 for job in jobs]
