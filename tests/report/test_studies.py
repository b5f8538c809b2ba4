"""Which studies a report shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.study import Study, write_study
from tracekit.report.data import Data, folders_of_studies, of_load, read_studies


def made(folder: Path, name: str, **about: Any) -> Path:
    write_study(Study(name=name, about=about, frames={"x": pl.DataFrame({"x": [name]})}), folder)
    return folder


def shown(source: Path, given: list[Path]) -> dict[str, Study]:
    return read_studies(folders_of_studies(source, given), given, None)


def test_those_given_and_those_in_the_folder_beside_by_the_names_of_their_folders(
    tmp_path: Path,
) -> None:
    made(tmp_path / "studies" / "one", "fewest_nodes")
    made(tmp_path / "studies" / "two", "fewest_nodes")
    given = made(tmp_path / "elsewhere" / "one", "other")
    result = shown(tmp_path / "store", [given])
    assert {name: one.name for name, one in result.items()} == {
        "one": "other",
        "two": "fewest_nodes",
    }
    data = Data(studies=result)
    assert data.frame("two/x")["x"].to_list() == ["fewest_nodes"]
    assert data.frame("fewest_nodes/x")["x"].to_list() == ["fewest_nodes"]
    assert data.frame("none/x").is_empty()


def test_a_study_alone_shows_itself(tmp_path: Path) -> None:
    made(tmp_path / "studies" / "other", "other")
    assert list(shown(made(tmp_path / "one", "one"), [])) == ["one"]


def test_a_damaged_one_beside_is_left_out_and_a_given_one_is_an_error(tmp_path: Path) -> None:
    bad = made(tmp_path / "studies" / "bad", "bad")
    (bad / "x.parquet").unlink()
    assert not shown(tmp_path / "store", [])
    with pytest.raises(TracekitError):
        shown(tmp_path / "store", [bad])


@pytest.mark.parametrize(
    ("about", "ours"),
    [
        ({}, True),
        ({"store": "of another"}, False),
        ({"workload": {"name": "store", "nodes": 9}}, False),
        ({"workload": {"name": "store", "nodes": 9, "nodes_with_left": 10, "steps": 5}}, True),
        ({"workload": {"name": "store", "nodes": 10, "steps": 6}}, False),
    ],
)
def test_beside_a_run_only_those_of_its_workload_count(about: dict[str, Any], ours: bool) -> None:
    study = Study(name="one", about=about, frames={})
    assert of_load(study, {"name": "store", "nodes": 10, "steps": 5}) == ours
