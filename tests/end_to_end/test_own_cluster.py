"""One's own cluster: kubectl's file and a real Prometheus in, a report out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from prometheus_support import START_S, STEP_S, cluster, prometheus, recorded

from tracekit.commands.shell import run
from tracekit.store.folder import open_store
from tracekit.store.query import Database

NODES, PODS, SAMPLES = 500, 5_000, 20
GIB_KB = 1 << 20


#: The peak is that of the program itself: ``ru_maxrss`` has that of the process it was forked from.
_RUN = """
import sys
from tracekit.commands.shell import run
code = run(sys.argv[1:])
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM:")))
sys.exit(code)
"""


def _timed(arguments: list[str]) -> tuple[str, float, int]:
    """What a command printed, its seconds, and the most memory (kB) of its main process.

    The seconds are those of the processors: two work side by side, as tests do.
    """
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments], capture_output=True, text=True, check=False
    )
    after = os.times()
    spent_s = sum(after[2:4]) - sum(before[2:4])
    assert done.returncode == 0, done.stderr
    *message, peak_kb = done.stdout.splitlines()
    return "\n".join(message), spent_s, int(peak_kb)


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
    message, passed_s, memory_kb = _timed(["run", str(mine), "--out", str(out), *policies])
    assert "report.html" in message
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
