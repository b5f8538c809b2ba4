"""What `tracekit explain --container` prints of a decision."""

from __future__ import annotations

from pathlib import Path

import pytest
from workload_support import parquet_folder

from tracekit.commands.shell import run


@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        ("best_fit", "-3,340 millicores and MiB"),
        ("worst_fit", "3,020 millicores and MiB"),
        ("best_fit_cell", "-1.9 cores"),
    ],
)
def test_scores_in_bytes_are_shown_in_units_of_people(
    policy: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = parquet_folder(tmp_path / "load")
    assert run(["explain", str(folder), "--policy", policy, "--container", "late"]) == 0
    assert shown in capsys.readouterr().out


def test_scores_without_a_unit_stay_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(parquet_folder(tmp_path / "load"))
    given = ["score", folder, "--policy", "best_fit[leftover=fraction]", "--container", "late"]
    assert run(given) == 0
    out = capsys.readouterr().out
    assert "millicores" not in out
    assert "-1.8" in out
