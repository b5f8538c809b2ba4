"""Dimensions that grow: keys stay, new ids come in the order of their text."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.store import dimensions
from tracekit.store.dimensions import Dimension, extend

FILES = st.lists(st.lists(st.text("abcé", max_size=3), unique=True, max_size=12), max_size=6)


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
            patched.setattr(dimensions, "GROUP_ROWS", 3)
            dimension, keys = extend(dimension, series, folder / f"{number}.parquet")
        assert keys.tolist() == [expected[name] for name in seen]
    rows = [row for group in dimension.groups() for row in group.to_pylist()]
    assert {row["id"]: row["key"] for row in rows} == expected
    assert [row["key"] for row in rows] == list(range(len(expected)))


def test_row_groups_depend_on_the_ids_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dimensions, "GROUP_ROWS", 100)
    names = [f"{n:05d}" for n in range(1_050)]
    dimension = Dimension()
    for number, step in enumerate((0, 333, 1_000)):
        seen = pl.Series("id", names[step:][: {0: 333, 333: 667, 1_000: 50}[step]])
        dimension, _ = extend(dimension, seen, tmp_path / f"{number}.parquet")
    extend(Dimension(), pl.Series("id", names), tmp_path / "once.parquet")
    assert dimension.path is not None
    assert dimension.path.read_bytes() == (tmp_path / "once.parquet").read_bytes()
    assert pq.ParquetFile(dimension.path).num_row_groups == 11


def test_nothing_is_written_for_ids_that_are_all_known(tmp_path: Path) -> None:
    first, _ = extend(Dimension(), pl.Series("id", ["b", "a"]), tmp_path / "one.parquet")
    second, keys = extend(first, pl.Series("id", ["b"]), tmp_path / "two.parquet")
    assert second is first
    assert keys.tolist() == [1]
    assert not (tmp_path / "two.parquet").exists()


def test_rows_beyond_the_count_are_an_interrupted_ingests(tmp_path: Path) -> None:
    longer, _ = extend(Dimension(), pl.Series("id", ["a", "b", "c"]), tmp_path / "one.parquet")
    committed = Dimension(longer.path, 2)
    after, keys = extend(committed, pl.Series("id", ["c", "aa"]), tmp_path / "two.parquet")
    assert keys.tolist() == [3, 2]
    assert after.count == 4
