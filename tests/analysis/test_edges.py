"""Edges counted in pieces are those of the SQL, however they are asked for."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from store_support import tiny_store

from tracekit.analysis import edges
from tracekit.analysis.callgraph.parts import chunks
from tracekit.analysis.edges import QUERY, run_query
from tracekit.analysis.run import analyze
from tracekit.store.folder import Store
from tracekit.store.query.run import run

#: Rows that differ from those of the SQL by no more than that.
assert_alike = partial(assert_frame_equal, rel_tol=0, abs_tol=2e-12)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny_store(tmp_path_factory.mktemp("tiny"), seed=5)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of the edges that were counted in pieces, however few calls there are."""
    heights: list[int] = []
    counted = edges.service_edges

    def noted(*given: object) -> pl.DataFrame:
        found = counted(*given)  # type: ignore[arg-type]
        heights.append(found.height)
        return found

    monkeypatch.setattr(edges, "FROM_ROWS", 1)
    for module in ("tracekit.analysis.edges", "tracekit.analysis.run"):
        monkeypatch.setattr(f"{module}.service_edges", noted)
    return heights


@pytest.mark.parametrize(
    ("name", "pieces"), [(QUERY, True), ("calls/hot_services", True), ("calls/rpc_types", False)]
)
def test_the_rows_are_those_of_the_sql(
    store: Store, taken: list[int], name: str, *, pieces: bool
) -> None:
    expected = run(store, name)
    assert expected.height
    assert_alike(run_query(store, name), expected)
    assert bool(taken) is pieces


@pytest.mark.slow
@pytest.mark.parametrize("rows_at_once", [500, 5_000])
def test_traces_of_many_ranges_add_up(
    rows_at_once: int, store: Store, taken: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edges, "_TIMES_AT_ONCE", 1_000)
    monkeypatch.setattr(edges, "chunks", lambda parts: chunks(parts, rows_at_once))
    assert len(store.table_files("call")) > 1
    found, expected = run_query(store, QUERY), run(store, QUERY)
    assert_alike(found, expected)
    assert taken == [expected.height]
    assert found["upstream"].null_count()
    assert found.filter(pl.col("traces") > 10).height


def test_a_file_of_ones_own_reads_the_views_it_names(
    store: Store, taken: list[int], tmp_path: Path
) -> None:
    (tmp_path / "mine.sql").write_text("SELECT count(*) AS n FROM calls_service_edges;")
    found = run_query(store, str(tmp_path / "mine.sql"))
    assert found["n"].to_list() == taken


def test_analyze_counts_large_tables_in_pieces(store: Store, taken: list[int]) -> None:
    without = [name for name in analyze(store).frames if not name.startswith("calls/")]
    found = analyze(store, without=without).frames
    assert_alike(found[QUERY], run(store, QUERY))
    assert set(taken) == {found[QUERY].height}
