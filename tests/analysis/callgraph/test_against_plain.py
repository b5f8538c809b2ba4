"""The call graphs agree, call by call, with the slow and obvious way of rebuilding them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from callgraph_support import Record, rows_of
from hypothesis import given
from hypothesis import strategies as st
from plain_callgraph import both_ways
from store_support import tiny_store

from tracekit.analysis.callgraph import MODES, Mode
from tracekit.analysis.callgraph.records import open_parts, read
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "traces"), [("MSCallGraph_0.csv", 21), ("MSCallGraph_shuffled_sample.csv", 17)]
)
def test_the_real_rows(real_rows: Path, tmp_path: Path, name: str, traces: int, mode: Mode) -> None:
    (tmp_path / "MSCallGraph_0.csv").write_bytes((real_rows / name).read_bytes())
    ingest(tmp_path / "MSCallGraph_0.csv", tmp_path / "store")
    rows = read(open_parts(open_store(tmp_path / "store")), 0, 2**31 - 1)
    assert rows["trace_key"].n_unique() == traces
    result, plain = both_ways(rows, mode)
    assert result == plain
    action = "moved up" if mode == "repair" else "kept"
    assert sum(one.ledger["contradicts_parent", action] for one in plain.values()) > 50


@pytest.fixture(scope="module")
def tiny_rows(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    store = tiny_store(tmp_path_factory.mktemp("tiny"), seed=3, tables="MSCallGraph")
    return read(open_parts(store), 0, 2**31 - 1)


@pytest.mark.parametrize("mode", MODES)
def test_made_up_traces(tiny_rows: pl.DataFrame, mode: Mode) -> None:
    assert tiny_rows["trace_key"].n_unique() == 300
    result, plain = both_ways(tiny_rows, mode)
    assert result == plain


names = st.one_of(st.none(), st.integers(0, 2))
rpc_ids = st.one_of(
    st.lists(st.sampled_from("01"), min_size=1, max_size=4).map(".".join),
    st.lists(st.sampled_from("0123"), min_size=1, max_size=6).map(".".join),
    st.sampled_from(["", "0.", "a.1", "0..1", "-1", "0.1 "]),
)
records = st.builds(
    Record,
    time_ms=st.integers(0, 3),
    rpc_id=rpc_ids,
    upstream=names,
    rpc_type=st.sampled_from(["rpc", "rpc", "http", "mq", "mc", "db", "userDefined", None]),
    downstream=names,
    interface=st.one_of(st.none(), st.integers(0, 1)),
    response_time_ms=st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, None]),
)


traces_of_records = st.dictionaries(
    st.integers(0, 9), st.lists(records, min_size=1, max_size=16), min_size=1, max_size=8
)


@pytest.mark.slow
@given(traces_of_records)
def test_any_records_at_all(traces: dict[int, list[Record]]) -> None:
    rows = rows_of(traces)
    split = rows.with_columns(part=pl.Series(range(rows.height), dtype=pl.Int32) % 2)
    for mode in MODES:
        result, plain = both_ways(split, mode)
        assert result == plain
