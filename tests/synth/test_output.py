from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.base.errors import TracekitError
from tracekit.synth.output import check_out, staged


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")

    with pytest.raises(TracekitError, match="made-up"):
        check_out(tmp_path)


def test_nothing_is_left_under_its_final_name_after_a_failure(tmp_path: Path) -> None:
    def fail() -> None:
        with staged(tmp_path / "out", ["a", "truth"]) as folder:
            (folder / "a").mkdir()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list((tmp_path / "out").iterdir()) == []


def test_an_interrupted_run_may_be_repeated(tmp_path: Path) -> None:
    (tmp_path / ".synth-partial").mkdir()
    (tmp_path / "node").mkdir()

    check_out(tmp_path)


def test_a_second_one_is_refused_and_the_first_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with staged(out, ["a", "truth"]) as folder:
        (folder / "a").mkdir()
        (folder / "truth").mkdir()
        with pytest.raises(TracekitError, match="written"), staged(out, ["a"]):
            raise AssertionError("not reached")
    assert sorted(path.name for path in out.iterdir()) == ["a", "truth"]


def test_what_a_killed_one_left_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("process 1 on nowhere")
    with staged(tmp_path, ["a", "truth"]) as folder:
        (folder / "a").mkdir()
        (folder / "truth").mkdir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "truth"]
