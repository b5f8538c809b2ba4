"""Which studies a report shows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tracekit.errors import TracekitError
from tracekit.report.computed import Computed
from tracekit.report.studies import read_studies
from tracekit.store.folder import open_store
from tracekit.study import Study, write_study


def made(folder: Path, name: str, value: int = 1) -> Path:
    write_study(Study(name=name, about={}, frames={"x": pl.DataFrame({"x": [value]})}), folder)
    return folder


def test_those_given_and_those_in_the_folder_beside(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    made(tmp_path / "studies" / "one", "one")
    made(tmp_path / "elsewhere", "elsewhere")
    given = made(tmp_path / "given", "given")
    assert list(read_studies(store, [given])) == ["given", "one"]


def test_a_given_one_counts_before_one_beside(tmp_path: Path) -> None:
    made(tmp_path / "studies" / "one", "one", 1)
    given = made(tmp_path / "two", "one", 2)
    assert read_studies(tmp_path / "store", [given])["one"].frames["x"]["x"].to_list() == [2]


def test_a_study_alone(tmp_path: Path) -> None:
    made(tmp_path / "studies" / "other", "other")
    assert list(read_studies(made(tmp_path / "one", "one"), [])) == ["one"]


def test_a_damaged_one_beside_is_left_out_and_a_given_one_is_an_error(tmp_path: Path) -> None:
    bad = made(tmp_path / "studies" / "bad", "bad")
    (bad / "x.parquet").unlink()
    assert not read_studies(tmp_path / "store", [])
    with pytest.raises(TracekitError, match="damaged"):
        read_studies(tmp_path / "store", [bad])


def test_a_page_of_two_studies_does_with_one_of_them_beside_a_store(store: Path) -> None:
    absent = Computed(open_store(store)).frame("search_placement/quality")
    assert absent.is_empty()
