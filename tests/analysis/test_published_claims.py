"""Claims of the study of the trace: what holds, what does not, and what cannot be told."""

from __future__ import annotations

from typing import Any, cast

import polars as pl

from tracekit.analysis import Analysis
from tracekit.analysis.results import Inputs
from tracekit.analysis.results.published_claims import CLAIMS, published_claims
from tracekit.analysis.summary import verdicts

COHORTS = pl.DataFrame(
    {
        "cohort": ["HIGH", "LOW", "MEMSKEW"],
        "nodes": [10, 20, 12],
        "containers_per_node": [9.0, 3.0, 4.0],
        "container_cpu_mean": [0.5, 0.1, 0.2922],
        "container_cpu_std": [0.1, 0.1, 0.2],
    }
)
LEVELS = pl.DataFrame(
    {
        "level": ["node", "node", "container", "container"],
        "resource": ["cpu", "memory", "cpu", "memory"],
        "mean": [0.46, 0.7, 0.2, 0.3],
        "peak": [0.9, 0.9, 0.35, 0.5],
        "std": [0.1, 0.02, 0.1, 0.1],
    }
)


def judged(cohorts: pl.DataFrame) -> pl.DataFrame:
    frames = {"usage/node_cohorts": cohorts, "usage/node_vs_container": LEVELS}
    return published_claims(Inputs(database=cast("Any", None), frames=frames))


def test_directions_and_numbers_are_judged() -> None:
    found = judged(COHORTS)
    assert found.height == len(CLAIMS)
    assert found["verdict"].to_list() == [
        "does not hold",  # half as many busy nodes as idle ones
        "holds",
        "holds",
        "holds",
        "does not hold",  # 0.2 for 0.0625
        "holds",
        "holds",  # 0.46 for 0.6: by less than a quarter
        "holds",
        "holds",
    ]
    assert found["here"].to_list()[:2] == [0.5, 3.0]
    (said,) = verdicts(Analysis(frames={"published_claims": found}, missing={}))
    assert said == (
        "of the study's 9 claims on nodes and containers (published_claims), 7 hold here; not:"
        " nodes with a mean CPU of 70 % or more, for one below 30 %; standard deviation of CPU of"
        " containers on memory-skewed nodes"
    )


def test_a_store_without_idle_nodes_cannot_tell() -> None:
    found = judged(COHORTS.filter(pl.col("cohort") != "LOW"))
    assert found["verdict"].to_list()[:4] == ["cannot be told"] * 3 + ["holds"]
    assert found["here"].to_list()[:3] == [None] * 3
