"""The whole way: trace files, a store, a run folder."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests_support import TraceFolder

from tracekit.base.facts import read_answer
from tracekit.commands.shell import run
from tracekit.policy.placement import all_policies


@pytest.fixture
def store(traces: TraceFolder, tmp_path: Path) -> str:
    assert run(["ingest", str(traces.path), str(tmp_path / "store")]) == 0
    return str(tmp_path / "store")


@pytest.mark.slow
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


def test_what_a_lost_node_held_is_a_fact(store: str, tmp_path: Path) -> None:
    lost = ["--assume", "node_cpu_cores=16", "--assume", "lost=1@4m"]
    out = tmp_path / "out"
    arguments = ["replay", store, "--policy", "first_fit", *lost]
    assert run([*arguments, "--repeat", "3", "--out", str(out)]) == 0
    answer = read_answer(out)
    assert answer is not None
    row = pl.read_parquet(out / "summary.parquet").row(
        by_predicate=pl.col("policy") == "first_fit", named=True
    )
    results = [(one.because, one.value, one.about["unplaced"]) for one in answer.of("displaced")]
    lost_place = row["evicted_by_loss"]
    assert results == ([("loss", lost_place, row["unplaced_after_loss"])] if lost_place else [])


@pytest.mark.slow
def test_repeats_say_what_is_better(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    arguments = [
        "replay",
        "--workload",
        "paper000[nodes=4,containers=40,target_alloc_fraction=0.4]",
        "--out",
        str(out),
    ]
    policies = ["--policy", "first_fit", "--policy", "least_allocated"]
    assert run([*arguments, *policies, "--repeat", "8"]) == 0
    rows = pl.read_parquet(out / "differences.parquet")
    assert rows.height == pl.read_parquet(out / "repeats.parquet").width - 3
    assert "imbalance_mean_low" in pl.read_parquet(out / "summary.parquet").columns
    capsys.readouterr()
    assert run([*arguments, *policies, "--repeat", "8", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["repeats"] == 8
    assert len(document["differences"]) == rows.height
    assert run([*arguments, *policies]) == 0
    assert pl.read_parquet(out / "repeats.parquet")["repeat"].n_unique() == 6
    capsys.readouterr()
    assert run([*arguments, *policies, "--repeat", "1"]) == 0
    shown = capsys.readouterr().out
    verdict = json.loads((out / "answer.json").read_text())["facts"][0]
    assert (verdict["because"], verdict["orders"]) == ("too_few_orders", 1)
    assert "±" not in shown
    assert not (out / "differences.parquet").exists()


@pytest.mark.slow
def test_only_the_named_policies_meet_every_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", "--workload", "paper000[nodes=4,containers=40]", "--out"]
    policies = ["--policy", "first_fit", "--policy", "worst_fit", "--repeat", "6"]
    for word in ("common", "first_fit"):
        out = tmp_path / word
        assert run([*arguments, str(out), *policies, "--repeat-policy", word]) == 0
        assert set(pl.read_parquet(out / "repeats.parquet")["policy"]) == {"first_fit"}
        assert pl.read_parquet(out / "summary.parquet").height == 3
    capsys.readouterr()
    strange = [*policies, "--repeat-policy", "best_fit"]
    assert run([*arguments, str(tmp_path / "no"), *strange]) == 2
    assert "'best_fit'" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
