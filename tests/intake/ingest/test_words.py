"""The order of rows, held against polars' sort of the columns themselves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests_support import CALL_HEADER, csv_text, hex_id

from tracekit.intake.ingest import ingest, sort
from tracekit.intake.ingest import words as words_module
from tracekit.intake.ingest.sort import find_duplicates
from tracekit.intake.ingest.words import order_of, pack, sorted_columns, words_of
from tracekit.store.tables import all_tables

SMALL = st.integers(-1, 3)
FLOATS = st.sampled_from([float("nan"), -7.5, -0.0, 0.0, 1e-300, 2.5, -1e300])
ROWS = st.lists(
    st.tuples(SMALL, st.integers(5, 9), SMALL, SMALL, SMALL, SMALL, SMALL, FLOATS), max_size=40
)
COLUMNS = [
    ("trace", np.int32), ("time_ms", np.int64), ("rpc_id", np.int32), ("upstream", np.int32),
    ("rpc_type", np.int32), ("downstream", np.int32), ("interface", np.int32),
    ("response_time_ms", np.float64),
]  # fmt: skip


def columns_of(rows: list[tuple[float, ...]]) -> dict[str, NDArray[np.generic]]:
    return {
        name: np.array([row[at] for row in rows], dtype=kind)
        for at, (name, kind) in enumerate(COLUMNS)
    }


@pytest.mark.parametrize("highest", [3, 2**31 - 1])
@given(rows=ROWS)
def test_rows_are_in_the_order_of_their_columns_and_stay_in_file_order_else(
    highest: int, rows: list[tuple[float, ...]]
) -> None:
    columns = columns_of(rows)
    order = sorted_columns(all_tables()["call"])
    ranges = {c.name: (-1, highest) for c in order if c.kind != "number"} | {"time_ms": (5, 9)}
    words = words_of(pack(order, ranges), columns)
    frame = pl.DataFrame(columns).with_columns(pl.col("response_time_ms").fill_nan(None))
    named = [column.name for column in order]
    expected = frame.with_row_index("at").sort(named, nulls_last=False, maintain_order=True)
    assert order_of(words).tolist() == expected["at"].to_list()
    kept = find_duplicates(words[:, order_of(words)]).staying.sum()
    assert kept == frame.with_columns(pl.col("response_time_ms") + 0.0).unique().height


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=2), max_size=50))
def test_the_compiled_order_is_numpys(pairs: list[list[int]]) -> None:
    words = np.array(pairs, dtype=np.uint64).reshape(-1, 2).T.copy()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(words_module, "PLAIN_ROWS", -1)
        compiled = order_of(words)
    assert compiled.tolist() == np.lexsort(words[::-1]).tolist()


def test_ranges_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.Generator(np.random.PCG64(9))
    lines = [
        f"t{t % 97},{t % 41},0.{t % 7},{hex_id('s', t % 5)},rpc,{hex_id('s', t % 3)},,{t % 11}"
        for t in rng.integers(0, 5_000, 20_000).tolist()
    ]
    path = tmp_path / "MSCallGraph_0.csv"
    path.write_text(csv_text(CALL_HEADER, lines))
    (whole,) = ingest(path, tmp_path / "whole").ingested
    monkeypatch.setattr(sort, "ROW_GROUP_ROWS", 1_000)
    monkeypatch.setattr(sort, "_CHUNK_ROWS", 3_333)
    ingest(path, tmp_path / "groups")
    (ranged,) = ingest(path, tmp_path / "ranges", memory_limit_bytes=0).ingested
    assert whole.duplicates_dropped > 10_000
    # groups of other sizes are other bytes
    assert dataclasses.replace(ranged, checksums={}) == dataclasses.replace(whole, checksums={})
    part = "tables/call/part-00000.parquet"
    groups, ranges = ((tmp_path / way / part).read_bytes() for way in ("groups", "ranges"))
    assert groups == ranges
