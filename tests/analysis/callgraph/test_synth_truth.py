"""What was planted in a made-up trace is found again; the errors are those that must be."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from store_support import tiny_store

from tracekit.analysis.callgraph.run import callgraph


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Planted calls beside those found: ``found`` and ``planted`` say which side a row is of."""
    folder = tmp_path_factory.mktemp("truth")
    callgraph(tiny_store(folder, seed=11, tables="MSCallGraph"), folder / "out")
    return beside(folder)


def beside(folder: Path) -> pl.DataFrame:
    rows = pl.read_parquet(folder / "out" / "calls.parquet").with_columns(found=True)
    above = rows.select("trace", parent="call", parent_path="rpc_id")
    rows = rows.join(above, on=["trace", "parent"], how="left")
    planted = pl.read_parquet(folder / "traces" / "truth" / "call.parquet").select(
        pl.col("trace_id").alias("trace"),
        pl.col("path").alias("rpc_id"),
        "caller_id",
        "callee_id",
        "kind",
        recorded=pl.col("by_caller") | pl.col("by_callee"),
        planted=True,
    )
    both = rows.join(planted, on=["trace", "rpc_id"], how="full", coalesce=True)
    return both.with_columns(pl.col("found", "planted").fill_null(value=False))


def share(frame: pl.DataFrame, of: pl.Expr) -> float:
    return float(frame.select(of.mean()).item())


def test_no_call_is_lost_and_none_made_up(calls: pl.DataFrame) -> None:
    assert calls["planted"].all()
    assert calls.filter("recorded")["found"].all()
    # an entry that left no record is put back where several calls lead to it
    lost = calls.filter(~pl.col("recorded"))
    assert 0.7 < share(lost, pl.col("found")) <= 1


def test_no_name_is_wrong_and_few_are_missing(calls: pl.DataFrame) -> None:
    rows = calls.filter("found")
    for name, planted, missing in (
        ("upstream", "caller_id", 0.002),
        ("downstream", "callee_id", 0.05),
    ):
        frame = rows.filter(pl.col(name).is_not_null())
        assert frame.select(pl.col(name).eq_missing(pl.col(planted)).all()).item(), name
        unnamed = pl.col(name).is_null() & pl.col(planted).is_not_null()
        assert share(rows, unnamed) < missing, name


def test_parents_are_those_that_made_the_calls(calls: pl.DataFrame) -> None:
    """But below a lost entry that made one call only, of which nothing tells."""
    made = calls.filter(pl.col("found") & pl.col("caller_id").is_not_null())
    truth = pl.col("rpc_id").str.replace(r"\.[0-9]+$", "")
    right = made.filter(pl.col("parent_path").eq_missing(truth))
    assert right.height / made.height > 0.98
    wrong = made.filter(pl.col("parent_path").ne_missing(truth))
    assert wrong["parent_path"].is_null().all()
    # the entries that were lost without a trace are as many as the calls that have no parent
    assert wrong.height == calls.filter(~pl.col("found")).height
