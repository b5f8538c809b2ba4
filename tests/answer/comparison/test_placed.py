"""Who leaves containers without a node that had one in the base: beyond chance, as in the table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from answer_support import resealed

from tracekit.answer.comparison.facts import facts_of_comparison
from tracekit.answer.comparison.run_compare import compare_runs
from tracekit.commands.replay import replay
from tracekit.commands.shell import run
from tracekit.replay.runs.thresholds import parse_threshold

SMALL = "paper000[containers=60,nodes=4]"
GATE = "lra: cpu_max_fraction > 9 * base"
#: Pods without a node by order in the base and in the new run, whose seeds differ; what becomes
#: of ``pending``, how many more were placed, and what becomes of a threshold beside the base.
PLACED: list[tuple[Sequence[int], Sequence[int], str, float, str]] = [
    ([0] * 6, [0, 0, 0, 0, 2, 1], "within chance", 0.0, "ok"),
    ([0, 0, 0, 0, 2, 1], [0] * 6, "within chance", 0.0, "ok"),
    ([0] * 6, [9, 10, 9, 10, 9, 10], "worse", -9.5, "not comparable"),
    ([9, 10, 9, 10, 9, 10], [0] * 6, "better", 9.5, "ok"),
    # too few to tell what chance is
    ([0] * 3, [0, 2, 1], "cannot be told", -1.0, "not comparable"),
    ([1] * 3, [1] * 3, "same", 0.0, "ok"),
]


def made(out: Path, pending: Sequence[int], seed: int) -> Path:
    """A run with so many pods without a node in each order."""
    replay(None, ["lra"], out=out, workload=SMALL, repeats=len(pending), seed=seed)
    repeats = pl.read_parquet(out / "repeats.parquet")
    mine = repeats.filter(policy="lra").sort("repeat")
    mine = mine.with_columns(pl.Series("pending", pending, repeats.schema["pending"]))
    pl.concat([repeats.filter(pl.col("policy") != "lra"), mine]).write_parquet(
        out / "repeats.parquet"
    )
    return resealed(out)


@pytest.mark.parametrize(("base", "new", "verdict", "placed", "outcome"), PLACED)
def test_who_placed_fewer_is_judged_as_pending_is(
    tmp_path: Path,
    base: Sequence[int],
    new: Sequence[int],
    verdict: str,
    placed: float,
    outcome: str,
) -> None:
    runs = made(tmp_path / "base", base, 0), made(tmp_path / "new", new, 50)
    study = compare_runs(*runs, fail_if=[parse_threshold(GATE)])
    changes = study.frames["changes"].filter(policy="lra")
    assert changes.filter(measure="pending")["verdict"].to_list() == [verdict]
    assert set(changes["placed_change"]) == {placed}
    assert study.frames["thresholds"]["outcome"].to_list() == [outcome]
    missing = [one.value for one in facts_of_comparison(study) if one.kind == "waiting"]
    assert missing == ([-placed] if placed < 0 else [])
    if not placed:
        assert "not comparable" not in set(changes["verdict"])
    assert run(["compare", *map(str, runs), "--fail-if", GATE]) == (outcome != "ok")


@pytest.mark.parametrize(("more", "placed"), [(3, 0.0), (2, -1.0), (9, 0.0), (-3, -3.0)])
def test_who_was_not_in_the_base_is_not_missing(tmp_path: Path, more: int, placed: float) -> None:
    """Three wait in the new run alone, of which so many were not in the base at all."""
    runs = made(tmp_path / "base", [0] * 6, 0), made(tmp_path / "new", [3] * 6, 0)
    path = runs[1] / "manifest.json"
    about = json.loads(path.read_text())
    about["workload"]["containers"] += more
    path.write_text(json.dumps(about))
    resealed(runs[1])
    study = compare_runs(*runs)
    assert set(study.frames["changes"].filter(policy="lra")["placed_change"]) == {placed}
    missing = [one.value for one in facts_of_comparison(study) if one.kind == "waiting"]
    assert missing == ([-placed] if placed < 0 else [])
