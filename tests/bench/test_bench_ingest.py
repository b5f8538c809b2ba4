from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from bench_rivals import DifferentRowsError, check_same

BENCH = Path(__file__).with_name("bench_ingest.py")


@pytest.mark.slow
def test_the_bench_goes_through_and_prints_every_ratio(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH), "--quick", "--dir", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("MSResource, 20,000 rows", "MSCallGraph, 20,000 rows", "two MSResource archives"):
        assert name in done.stdout
    assert re.findall(r"tracekit .* +\d+\.\d\d x", done.stdout)
    assert re.search(r"MSCallGraph: 1x \(5,000 rows\) \d+ MiB, 4x .*, 16x", done.stdout)
    assert len(re.findall(r"usage/node_profile .* x scan", done.stdout)) == 2
    assert re.search(r"DuckDB wrote the same 20,000 rows in the same order with \d", done.stdout)
    assert re.search(r"tracekit ingest +\d+\.\d\d s, .* CPU s", done.stdout)
    assert list(tmp_path.iterdir()) == []


def test_a_rival_that_wrote_other_rows_is_no_rival(tmp_path: Path) -> None:
    for side in ("store/tables/container_usage", "rival"):
        (tmp_path / side).mkdir(parents=True)
    for entity in ("service", "container", "node"):
        (tmp_path / "store/dimensions" / entity).mkdir(parents=True)
        for path in (f"store/dimensions/{entity}/part.parquet", f"rival/{entity}.parquet"):
            pl.DataFrame({"key": [0], "id": ["a"]}).write_parquet(tmp_path / path)
    keys = {f"{entity}_key": [0, 0] for entity in ("service", "container", "node")}
    rows = pl.DataFrame(
        {"time_ms": [0, 30_000], **keys, "cpu_fraction": [0.5, 0.25], "memory_fraction": [0.5, 0.5]}
    )
    rows.write_parquet(tmp_path / "store/tables/container_usage/part.parquet")
    rows.write_parquet(tmp_path / "rival/rows.parquet")
    assert check_same(tmp_path / "store", tmp_path / "rival") == 2
    rows.reverse().write_parquet(tmp_path / "rival/rows.parquet")
    with pytest.raises(DifferentRowsError, match="rows: tracekit"):
        check_same(tmp_path / "store", tmp_path / "rival")
