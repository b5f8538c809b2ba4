"""Study folders: written whole, read back the same, and never over something else."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.study import Study, read_study, write_study

STUDY = Study(
    name="made_up", about={"seed": 3, "names": ["a"]}, frames={"rows": pl.DataFrame({"x": [1, 2]})}
)


def test_it_reads_back(tmp_path: Path) -> None:
    for _ in range(2):
        write_study(STUDY, tmp_path / "a" / "study")
    found = read_study(tmp_path / "a" / "study")
    assert (found.name, found.about) == (STUDY.name, STUDY.about)
    assert found.frames["rows"].equals(STUDY.frames["rows"])
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["study"]


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("keep")
    (tmp_path / "file").write_text("keep")
    for name in ("letters", "file"):
        with pytest.raises(TracekitError, match=f"{name}' exists"):
            write_study(STUDY, tmp_path / name)
    assert (tmp_path / "letters" / "dear.txt").read_text() == "keep"
    assert (tmp_path / "file").read_text() == "keep"
