"""One's own cluster: kubectl's file and a real Prometheus in, a report out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from prometheus_support import START_S, STEP_S, cluster, prometheus, recorded

from tracekit.cli import run
from tracekit.query import Database
from tracekit.store import open_store

NODES, PODS, SAMPLES = 500, 5_000, 20
GIB_KB = 1 << 20


def _timed(arguments: list[str], log: Path) -> tuple[int, float, int]:
    """Exit code, seconds and the most memory (kB) of a command and of those it starts."""
    begin = time.monotonic()
    with log.open("wb") as out:
        started = subprocess.Popen([sys.executable, "-m", "tracekit", *arguments], stdout=out)
        _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    return started.returncode, time.monotonic() - begin, used.ru_maxrss


@pytest.mark.slow
def test_two_fetches_and_a_run_end_in_a_report(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.mkdir()
    (mine / "cluster.json").write_text(json.dumps(cluster(NODES, PODS)))
    end = START_S + (SAMPLES - 1) * STEP_S
    with prometheus(tmp_path / "prometheus", recorded(PODS, SAMPLES)) as url:
        times = ["--from", str(START_S), "--to", str(end)]
        assert run(["fetch", "prometheus", url, str(mine), *times]) == 0
    policies = ["--policy", "first_fit", "--policy", "target_load_packing", "--repeat", "1"]
    code, passed_s, memory_kb = _timed(
        ["run", str(mine), "--out", str(out), *policies], tmp_path / "log"
    )
    assert code == 0, (tmp_path / "log").read_text()
    assert passed_s < 60
    assert memory_kb < GIB_KB
    assert (out / "report.html").stat().st_size > 100_000
    with Database(open_store(out / "store")) as database:
        used = database.frame(
            "SELECT avg(cpu_fraction) AS cpu, count(*) AS samples, count(DISTINCT node) AS nodes"
            " FROM container_usage"
        )
    assert used.row(0)[1:] == (PODS * (SAMPLES - 1), NODES)
    assert used.select(pl.col("cpu").is_between(0.01, 2)).item()
