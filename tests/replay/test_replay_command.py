"""The whole way: trace files, a store, a run folder."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests_support import TraceFolder

from tracekit.cli import run
from tracekit.replay.placement import all_policies


@pytest.fixture
def store(traces: TraceFolder, tmp_path: Path) -> str:
    assert run(["ingest", str(traces.path), str(tmp_path / "store")]) == 0
    return str(tmp_path / "store")


def test_a_store_is_replayed(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    capsys.readouterr()
    arguments = ["replay", store, "--policy", "all", "--out", str(out), "--json"]
    assert run([*arguments, "--assume", "node_cpu_cores=8"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/replay/1"
    assert document["workload"]["assumptions"]["node_cpu_cores"] == 8.0
    names = [row["policy"] for row in document["summary"]]
    assert (names[0], names[-1]) == ("observed", "bound")
    assert set(all_policies()) < set(names)
    assert pl.read_parquet(out / "summary.parquet").height == len(document["summary"])


def test_the_table_fits_80_columns(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["replay", store, "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert "observed" in shown
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80


WRONG = [
    (["--policy", "lest_allocated"], "did you mean 'least_allocated'?"),
    (["--assume", "nodes=3"], "the assumptions has no parameter 'nodes'"),
    (["--workload", "nowhere", "--assume", "limit_factor=2"], "--assume is for a store's trace"),
    (["--workload", "nowhere"], "nodes.parquet' is not there"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_is_refused(
    options: list[str], message: str, store: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert run(["replay", store, "--out", str(tmp_path / "run"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
