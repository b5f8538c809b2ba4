"""Parquet files read whole: the same values as polars reads, and damage is an error, not an end."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.base.files.result_folder import read_frame

FRAME = pl.DataFrame(
    {
        "id": ["a", None, "c"] * 40,
        "number": [1.5, None, float("nan")] * 40,
        "whole": [1, 2, None] * 40,
        "flag": [True, False, None] * 40,
        "kind": pl.Series(["x", "y", None] * 40, dtype=pl.Categorical),
        "list": [[1, 2], [], None] * 40,
    }
)


def test_it_reads_what_polars_wrote(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "file.parquet")
    rows = read_frame(tmp_path / "file.parquet")
    assert rows.schema == FRAME.schema
    assert rows.equals(FRAME)


def test_no_file_and_no_parquet(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.parquet"):
        read_frame(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(pl.exceptions.ComputeError):
        read_frame(tmp_path / "text.parquet")


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_bytes_never_end_the_program(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "file.parquet"
    FRAME.write_parquet(path)
    data = bytearray(path.read_bytes())
    for at, value in changes:
        data[at % len(data)] = value
    path.write_bytes(data)
    try:
        rows = read_frame(path)
    except (pl.exceptions.ComputeError, OSError, MemoryError):
        return
    # what came through is whole: every value can be handed out
    assert all(rows[name].to_list() is not None for name in rows.columns)
