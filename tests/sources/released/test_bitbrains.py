"""Machines of Bitbrains: seconds that are called ms, MHz that become cores, KB bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_support import read, recognised
from tests_support import shared_data

from tracekit.ingest import ingest
from tracekit.query import Database
from tracekit.sources.released.bitbrains import HEADER
from tracekit.store import open_store

LINES = (
    "1376314846;\t4;\t10000.0;\t2500.0;\t25.0;\t2097152.0;\t1024.0;\t1.0;\t2.0;\t3.0;\t4.0",
    "1376315146;\t4;\t10000.0;\t5000.0;\t50.0;\t2097152.0;\t2048.0;\t0.0;\t0.0;\t0.0;\t0.0",
    "1376315446;\t8;\t20000.0;\t0.0;\t0.0;\t4194304.0;\t0.0;\t0.0;\t0.0;\t0.0;\t0.0",
)


def _file(folder: Path, *lines: str) -> Path:
    path = folder / "7.csv"
    path.write_text("\n".join([";\t".join(HEADER), *lines]) + "\n")
    return path


def test_one_file_is_one_machine(tmp_path: Path) -> None:
    path = _file(tmp_path, *LINES)
    assert recognised(path) == [("bitbrains", "vm")]
    found = read("bitbrains", path)
    assert found.broken == []
    assert found.rows("container", "container", "time_ms", "departure_ms") == [
        ("7", 1_376_314_846_000, 1_376_315_746_000)
    ]
    assert found.rows("container_resource", "time_ms", "resource", "request", "unit") == [
        (1_376_314_846_000, "cpu", 4.0, "cores"),
        (1_376_314_846_000, "memory", 2.0**31, "bytes"),
        (1_376_315_446_000, "cpu", 8.0, "cores"),
        (1_376_315_446_000, "memory", 2.0**32, "bytes"),
    ]
    assert found.rows("container_amount", "line", "resource", "amount", "unit")[:6] == [
        (2, "cpu", 1.0, "cores"),
        (2, "memory", 1024.0**2, "bytes"),
        (2, "disk_io", 3072.0, "bytes/s"),
        (2, "net_in", 3072.0, "bytes/s"),
        (2, "net_out", 4096.0, "bytes/s"),
        (3, "cpu", 2.0, "cores"),
    ]


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        ("1376315146;\t4;\t1.0", None, "has 3 fields, expected 11"),
        (LINES[0].replace("2500.0", "x"), "used_mhz", "is 'x', expected a number"),
        (LINES[0].replace("1376314846", ""), "time", "is empty, expected a value"),
        (LINES[0].replace("1376314846", "NaN"), "time", "is 'NaN', expected a number"),
        (
            LINES[0].replace("2500.0", "62500.0"),
            "used_mhz",
            "is '62500.0', expected at most 4 times what is provisioned (provisioned_mhz)",
        ),
        (LINES[0].replace("1024.0", "-1024.0"), "used_kb", "is '-1024.0', expected 0 or more"),
        (
            LINES[0].replace("10000.0", "0.0"),
            "used_mhz",
            "is '2500.0', expected 0, as no CPU is provisioned",
        ),
    ],
)
def test_a_broken_line_is_told(tmp_path: Path, line: str, column: str | None, reason: str) -> None:
    found = read("bitbrains", _file(tmp_path, LINES[0], line, LINES[2]))
    assert found.reasons == [(3, column, reason)]
    assert len(found.rows("container_amount", "line")) == 10


def test_true_ms_stay_ms(tmp_path: Path) -> None:
    found = read("bitbrains", _file(tmp_path, LINES[0].replace("1376314846", "1376314846000")))
    assert found.rows("container", "time_ms") == [(1_376_314_846_000,)]


def test_machines_in_a_store(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    _file(trace, *LINES)
    ingest(trace, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        asked = (
            "SELECT time_ms, request FROM container_resource WHERE resource = 'cpu' ORDER BY ALL"
        )
        assert database.frame(asked).rows() == [(1_376_314_846_000, 4.0), (1_376_315_446_000, 8.0)]
        used = "SELECT sum(amount) FROM container_amount WHERE resource = 'cpu'"
        assert database.frame(used).rows() == [(3.0,)]


def test_the_real_machine() -> None:
    path = shared_data("bitbrains") / "bitbrains.head.csv"
    found = read("bitbrains", path)
    lines = path.read_text().splitlines()[1:]
    assert found.broken == []
    assert len(found.rows("container_amount", "line")) == 5 * len(lines)
    cpu = found.tables["container_amount"].filter(resource="cpu")["amount"]
    shares = [float(line.split(";")[4]) / 100 for line in lines]
    assert cpu.to_list() == pytest.approx(shares)
    assert found.rows("container_resource", "resource", "request")[:2] == [
        ("cpu", 1.0),
        ("memory", 2.0**31),
    ]
