"""Reading by ranges of traces: every row once, every trace whole, whatever the size of a piece."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_support import tiny_store
from tests_support import CALL_HEADER, call_lines, csv_text, hex_id

from tracekit.analysis.callgraph.records import Part, chunks, open_parts, ranges
from tracekit.analysis.callgraph.run import CallGraphs, callgraph
from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two files of made-up calls; traces at their border are in both."""
    return tiny_store(tmp_path_factory.mktemp("parts"), seed=5, tables="MSCallGraph")


@pytest.mark.parametrize("rows_at_once", [1, 50, 1000, 10**9])
def test_every_row_once_and_every_trace_whole(store: Store, rows_at_once: int) -> None:
    parts = open_parts(store)
    assert len(parts) == 2
    pieces = [frame["trace_key"].to_list() for frame in chunks(parts, rows_at_once)]
    everything = pl.concat([pl.read_parquet(path) for path in store.table_files("call")])
    assert sorted(key for piece in pieces for key in piece) == sorted(everything["trace_key"])
    distinct = [set(piece) for piece in pieces]
    assert sum(map(len, distinct)) == len(set.union(*distinct))
    assert (len(pieces) > 100) == (rows_at_once == 1)


@pytest.mark.slow
def test_results_do_not_depend_on_the_size_of_a_piece(store: Store, tmp_path: Path) -> None:
    results = [callgraph(store, tmp_path / str(rows), rows_at_once=rows) for rows in (100, 500_000)]
    for field in dataclasses.fields(CallGraphs):
        one, other = (getattr(result, field.name) for result in results)
        assert one.equals(other) if isinstance(one, pl.DataFrame) else one == other, field.name
    for name in results[0].files:
        one, other = (pl.read_parquet(tmp_path / size / name) for size in ("100", "500000"))
        assert one.equals(other), name


def test_a_trace_in_two_files_is_one_trace(tmp_path: Path) -> None:
    lines = call_lines()
    for number, part in enumerate((lines[:3], lines[3:])):
        path = tmp_path / "traces" / f"MSCallGraph_{number}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(csv_text(CALL_HEADER, part))
    ingest(tmp_path / "traces", tmp_path / "store")
    result = callgraph(open_store(tmp_path / "store"), tmp_path / "out")
    assert result.counts["split"] == 1
    split = pl.read_parquet(tmp_path / "out" / "traces.parquet").filter(pl.col("files") > 1)
    assert split.select("trace", "first_part", "last_part", "connected").rows() == [
        (lines[0].split(",")[0], 0, 1, True)
    ]


def test_the_same_rows_in_two_files_are_merged(tmp_path: Path) -> None:
    """Ingest drops repeats within a file only; between files the ledger tells of them."""
    for name, lines in (
        ("MSCallGraph_0.csv", call_lines()),
        ("MSCallGraph_1.csv", call_lines()[:4]),
    ):
        (tmp_path / "traces").mkdir(exist_ok=True)
        (tmp_path / "traces" / name).write_text(csv_text(CALL_HEADER, lines))
    ingest(tmp_path / "traces", tmp_path / "store")
    result = callgraph(open_store(tmp_path / "store"))
    merged = result.ledger.filter(pl.col("defect") == "duplicate_record")
    assert merged.select("action", "count", "traces").rows() == [("merged", 4, 1)]


def test_one_call(tmp_path: Path) -> None:
    line = f"t,5,0,{hex_id('service', 0)},mc,{hex_id('service', 1)},,0"
    (tmp_path / "MSCallGraph_0.csv").write_text(csv_text(CALL_HEADER, [line]))
    ingest(tmp_path / "MSCallGraph_0.csv", tmp_path / "store")
    result = callgraph(open_store(tmp_path / "store"), tmp_path / "out")
    assert (result.counts["traces"], result.counts["calls"], result.ledger.height) == (1, 1, 0)
    assert pl.read_parquet(tmp_path / "out" / "ledger.parquet").height == 0


groups = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(1, 300)), min_size=1, max_size=6
)


@given(groups, st.integers(1, 400))
def test_ranges_cover_all_traces_without_overlap(
    groups: list[tuple[int, int, int]], rows_at_once: int
) -> None:
    spans = np.array([(min(a, b), max(a, b), rows) for a, b, rows in groups], dtype=np.int64)
    part = Part(path=Path(), number=0, low=spans[:, 0], high=spans[:, 1], rows=spans[:, 2])
    result = ranges([part], rows_at_once)
    assert result[0][0] == spans[:, 0].min()
    assert result[-1][1] == spans[:, 1].max()
    for (_, last), (first, _) in itertools.pairwise(result):
        assert first == last + 1
    assert all(first <= last for first, last in result)
