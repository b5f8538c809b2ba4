"""The Makefile: what is installed once is not installed again, so that targets work offline."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_MARKS = (".user", ".dev", ".docs")


def _would_run(target: str, venv: Path) -> str:
    """The commands that make would run, with the marks in ``venv``."""
    call = ["make", "--dry-run", "--no-print-directory", f"VENV={venv}", target]
    return subprocess.run(call, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("target", ["test", "reference", "docs", "lint"])
def test_a_target_installs_only_what_is_missing(tmp_path: Path, target: str) -> None:
    assert "pip install" in _would_run(target, tmp_path / "none")
    for mark in _MARKS:
        (tmp_path / mark).touch()
    assert "pip install" not in _would_run(target, tmp_path)


def test_the_documentation_installs_its_own_tools(tmp_path: Path) -> None:
    for mark in (".user", ".dev"):
        (tmp_path / mark).touch()
    wanted = _would_run("docs", tmp_path)
    (line,) = (line for line in wanted.splitlines() if "pip install" in line)
    # tracekit is there already: only what the documentation needs besides is looked for
    assert "tracekit[docs]" in line
    assert "--editable" not in line
    assert wanted.index(line) < wanted.index("zensical build")
