"""What large tables give another way is what the SQL gives, however it is asked for."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from store_support import tiny_store
from usage_support import STEP_MS, random_usage, usage_store

from tracekit.analysis import large
from tracekit.analysis.callgraph.records import chunks
from tracekit.analysis.large import EDGES, PROFILE, run_query, way_of
from tracekit.analysis.run import analyze
from tracekit.store.folder import Store
from tracekit.store.query.run import run

#: Rows that differ from those of the SQL by no more than that.
assert_alike = partial(assert_frame_equal, rel_tol=0, abs_tol=2e-12)
CORRELATED = pl.DataFrame({"cpu": [0.1, 0.2, 0.3, 0.4] * 5, "memory": [0.3, 0.4, 0.5, 0.6] * 5})
#: Nodes that the definitions treat apart.
APART = {
    "constant": CORRELATED.with_columns(memory=0.5),
    "short": CORRELATED.head(9),
    "single": CORRELATED.head(1),
    "C": CORRELATED,
    "A": CORRELATED.with_columns(memory=1 - pl.col("memory")),
    "overcommitted": CORRELATED.with_columns(cpu=pl.col("cpu") * 3),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny_store(tmp_path_factory.mktemp("tiny"), seed=5)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The queries that are answered another way, however few rows there are."""
    names: set[str] = set()

    def noted(query: str, store: Store) -> large.Way | None:
        way = way_of(query, store)
        names.update([query] if way else [])
        return way

    monkeypatch.setattr(large, "FROM_ROWS", 1)
    for module in ("tracekit.analysis.large", "tracekit.analysis.run"):
        monkeypatch.setattr(f"{module}.way_of", noted)
    return names


@pytest.mark.parametrize(
    ("name", "others"),
    [
        (EDGES, {EDGES}),
        ("calls/hot_services", {EDGES}),
        ("usage/zone_summary", {PROFILE}),
        ("calls/rpc_types", set()),
    ],
)
def test_the_rows_are_those_of_the_sql(
    store: Store, taken: set[str], name: str, others: set[str]
) -> None:
    expected = run(store, name)
    assert expected.height
    assert_frame_equal(run_query(store, name), expected, rel_tol=0, abs_tol=1e-11)
    assert taken == others


@pytest.mark.slow
@pytest.mark.parametrize("rows_at_once", [500, 5_000])
@pytest.mark.usefixtures("taken")
def test_traces_of_many_ranges_add_up(
    rows_at_once: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "_TIMES_AT_ONCE", 1_000)
    monkeypatch.setattr(large, "chunks", lambda parts: chunks(parts, rows_at_once))
    assert len(store.table_files("call")) > 1
    result = run_query(store, EDGES)
    assert_alike(result, run(store, EDGES))
    assert result["upstream"].null_count()
    assert result.filter(pl.col("traces") > 10).height


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_profiles_of_nodes_that_are_treated_apart(
    tmp_path: Path, taken: set[str], seed: int | None
) -> None:
    if seed is None:
        nodes = pl.concat(
            rows.with_columns(node=pl.lit(node), time_ms=pl.int_range(pl.len()) * STEP_MS)
            for node, rows in APART.items()
        ).sample(fraction=1, shuffle=True, seed=1)
    else:
        nodes = random_usage(np.random.default_rng(seed), nodes=30, steps=100 * seed)[0]
    store = usage_store(tmp_path, nodes=nodes)
    expected = run(store, PROFILE)
    assert expected.height
    assert_alike(run_query(store, PROFILE), expected)
    assert taken == {PROFILE}
    taken.clear()
    few = {"min_samples": "2"}
    assert run_query(store, PROFILE, few).equals(run(store, PROFILE, few))


def test_a_file_of_ones_own_reads_the_views_it_names(
    store: Store, taken: set[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.sql").write_text("SELECT count(*) AS n FROM calls_service_edges;")
    result = run_query(store, str(tmp_path / "mine.sql"))
    assert result["n"].to_list() == [run(store, EDGES).height]
    assert taken == {EDGES}


def test_analyze_takes_the_other_ways(store: Store, taken: set[str]) -> None:
    without = [name for name in analyze(store).frames if not name.startswith("calls/")]
    result = analyze(store, without=without).frames
    assert_alike(result[EDGES], run(store, EDGES))
    assert EDGES in taken
