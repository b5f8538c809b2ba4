"""The order of rows, held against polars' sort of the columns themselves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests_support import CALL_HEADER, csv_text, hex_id

from tracekit.intake.ingest import dimensions, ingest, sort
from tracekit.intake.ingest import words as words_module
from tracekit.intake.ingest.dimensions import Dimension, extend, hashed
from tracekit.intake.ingest.sort import find_duplicates
from tracekit.intake.ingest.words import order_of, pack, sorted_columns, words_of
from tracekit.store.folder import dimension_path, dimension_paths
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
    staying_rows = find_duplicates(words[:, order_of(words)]).staying.sum()
    assert staying_rows == frame.with_columns(pl.col("response_time_ms") + 0.0).unique().height


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


# Dimensions that grow: keys stay, new ids come in the order of their text.

#: blake2b of 8 bytes, read from the lowest byte on: ``b2sum --length 64`` prints the bytes.
HASHES = [0x2F42665B399EF840, 0x2F19F3EF8BBF1ACB]
SCHEMA = {"key": pl.Int32, "id": pl.String, "hash": pl.UInt64}
FILES = st.lists(st.lists(st.text("abcé", max_size=3), unique=True, max_size=12), max_size=6)


@pytest.mark.slow
@given(files=FILES)
def test_ids_have_the_keys_of_the_obvious_way(
    files: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("dimension")
    dimension, expected = Dimension(), dict[str, int]()
    for number, seen in enumerate(files):
        new = sorted(set(seen) - set(expected), key=str.encode)
        expected |= {name: len(expected) + at for at, name in enumerate(new)}
        series = pl.Series("id", seen, dtype=pl.String)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(dimensions, "ROW_GROUP_ROWS", 3)
            dimension, keys = extend(dimension, series, folder / f"{number}.parquet")
        assert keys.tolist() == [expected[name] for name in seen]
    rows = pl.concat([pl.DataFrame(schema=SCHEMA), *(pl.read_parquet(p) for p in dimension.parts)])
    assert dict(rows.select("id", "key").iter_rows()) == expected
    assert rows["key"].to_list() == list(range(len(expected)))
    assert rows["hash"].to_list() == hashed(rows["id"]).tolist()


def test_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    names = [f"{n:05d}" for n in range(1_050)]
    dimension = Dimension()
    written: list[int] = []
    for number, (start, stop) in enumerate(((0, 333), (100, 1_000), (900, 1_050))):
        dimension, _ = extend(dimension, pl.Series("id", names[start:stop]), tmp_path / f"{number}")
        assert [part.stat().st_mtime_ns for part in dimension.parts[:-1]] == written
        written = [part.stat().st_mtime_ns for part in dimension.parts]
    assert [pq.ParquetFile(part).metadata.num_rows for part in dimension.parts] == [333, 667, 50]


def test_of_row_groups_without_known_ids_only_the_hashes_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dimensions, "ROW_GROUP_ROWS", 100)
    names = pl.Series("id", [f"{n:05d}" for n in range(1_000)])
    dimension, _ = extend(Dimension(), names, tmp_path / "one.parquet")
    read: list[tuple[int, list[str]]] = []
    real = pq.ParquetFile.read_row_group

    def noted(file: pq.ParquetFile, number: int, columns: list[str]) -> object:
        read.append((number, columns))
        return real(file, number, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    _, keys = extend(dimension, pl.Series("id", ["00250", "new"]), tmp_path / "two.parquet")
    assert keys.tolist() == [250, 1_000]
    assert [number for number, columns in read if columns == ["hash"]] == list(range(10))
    assert [number for number, columns in read if columns == ["key", "id"]] == [2]


def test_ids_of_the_same_hash_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poor(ids: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        return np.array([len(one) for one in ids], dtype=np.uint64)

    monkeypatch.setattr(dimensions, "hashed", poor)
    first, _ = extend(Dimension(), pl.Series("id", ["b", "a", "cc"]), tmp_path / "one.parquet")
    _, keys = extend(first, pl.Series("id", ["d", "a", "cc", "b"]), tmp_path / "two.parquet")
    assert keys.tolist() == [3, 0, 2, 1]


def test_hashes_stay_what_they_are_in_stores_that_exist() -> None:
    assert hashed(pl.Series("id", ["a", "é"])).tolist() == HASHES


def test_a_part_beyond_the_count_is_an_interrupted_ingests(tmp_path: Path) -> None:
    first = tmp_path / dimension_path("node", 0)
    one, _ = extend(Dimension(), pl.Series("id", ["a", "b"]), first)
    extend(one, pl.Series("id", ["c"]), tmp_path / dimension_path("node", 2))
    assert dimension_paths(tmp_path, "node", 2) == [first]
    assert len(dimension_paths(tmp_path, "node", 3)) == 2
    assert dimension_paths(tmp_path, "node", 0) == []
