"""Thresholds beside the base: a change that chance may explain fails nothing."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from answer_support import resealed

from tracekit.answer.comparison.run_compare import compare_runs
from tracekit.commands.replay import replay
from tracekit.commands.shell import run
from tracekit.replay.runs.thresholds import parse_threshold

SMALL = "paper000[containers=60,nodes=4]"
#: Imbalance of the new run by order, where that of the base is 0.10 to 0.15.
NEAR = [0.11, 0.16, 0.12, 0.14, 0.11, 0.17]
FAR = [0.41, 0.46, 0.42, 0.44, 0.41, 0.47]


def made(out: Path, values: list[float], seed: int) -> Path:
    """A run whose policy has these values, in so many orders."""
    replay(None, ["lra"], out=out, workload=SMALL, repeats=len(values), seed=seed)
    path = out / "repeats.parquet"
    repeats = pl.read_parquet(path)
    mine = repeats.filter(policy="lra").sort("repeat")
    mine = mine.with_columns(pl.Series("imbalance_mean", values))
    pl.concat([repeats.filter(pl.col("policy") != "lra"), mine]).write_parquet(path)
    return resealed(out)


@pytest.mark.parametrize(
    ("new", "orders", "threshold", "outcome"),
    [
        (NEAR, 6, "imbalance_mean > 1.01 * base", "maybe chance"),
        (FAR, 6, "imbalance_mean > 1.01 * base", "failed"),
        # a number is a number, and too few orders tell nothing of chance
        (NEAR, 6, "imbalance_mean > 0.12", "failed"),
        (NEAR, 3, "imbalance_mean > 1.01 * base", "failed"),
        (NEAR, 6, "imbalance_mean > 2 * base", "ok"),
        # chance is known of means: the worst order is what it came to, 0.17 beside 0.15
        (NEAR, 6, "worst(imbalance_mean) > 1.01 * base", "failed"),
        (NEAR, 6, "worst(imbalance_mean) > 1.2 * base", "ok"),
    ],
)
def test_what_chance_may_explain_fails_nothing_beside_the_base(
    tmp_path: Path, new: list[float], orders: int, threshold: str, outcome: str
) -> None:
    """Two runs that differ by seed alone failed a pipeline."""
    base = made(tmp_path / "base", [0.10, 0.11, 0.15, 0.12, 0.13, 0.14][:orders], 0)
    later = made(tmp_path / "new", new[:orders], 50)
    study = compare_runs(base, later, fail_if=[parse_threshold(threshold)])
    assert study.frames["thresholds"]["outcome"].to_list() == [outcome]
    junit = tmp_path / "out.xml"
    arguments = ["compare", str(base), str(later), "--fail-if", threshold, "--junit", str(junit)]
    assert run(arguments) == (outcome == "failed")
    suite = ET.parse(junit).getroot()[0]  # noqa: S314 - written by us
    assert suite.get("skipped") == str(int(outcome == "maybe chance"))
    assert suite.get("failures") == str(int(outcome == "failed"))
