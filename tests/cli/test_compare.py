"""tracekit compare: exit codes for pipelines, and one JSON document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracekit.cli import run
from tracekit.verbs.replay import replay


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("two")
    for name, target in (("base", 0.5), ("new", 0.85)):
        text = f"paper000[containers=60,nodes=4,target_alloc_fraction={target}]"
        replay(None, ["lra"], out=folder / name, workload=text)
    return str(folder / "base"), str(folder / "new")


def test_exit_codes(two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *two]) == 0
    assert run(["compare", *two, "--fail-if", "debris_mean_fraction > base"]) == 0
    assert run(["compare", *two, "--fail-if", "debris_mean_fraction < 0.9 * base"]) == 1
    told = capsys.readouterr()
    assert "FAILED" in told.out
    assert "is exceeded by lra" in told.err
    assert run(["compare", *two, "--fail-if", "nonsense"]) == 2


def test_json_and_study(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *two, "--json", "--out", str(tmp_path / "study")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/compare/1"
    assert document["policies"] == ["lra"]
    assert (tmp_path / "study" / "changes.parquet").is_file()


def test_every_line_fits(two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *two, "--all"]) == 0
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 80
