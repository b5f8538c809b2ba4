"""Paths in a report's commands: short where the page lies near, whole for what lies elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.report.paths import paths


def test_a_workload_that_lies_elsewhere_has_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path with dots works from one folder alone."""
    here, data = tmp_path / "work" / "here", tmp_path / "shared" / "data"
    run = here / "out" / "run"
    for folder in (run, data, here / "mine"):
        folder.mkdir(parents=True)
    monkeypatch.chdir(here)
    for loader, spelled in (
        ("parquet:../../../../shared/data", f"parquet:{data}"),
        ("parquet:../../mine", "parquet:mine"),
    ):
        result = paths(Path("out/run"), None, Path("out/run"), loader=loader)
        assert result.workload == spelled
        assert result.run == "out/run"
    monkeypatch.chdir(run)
    assert paths(Path("../run"), Path("../store"), None).store == "../store"
