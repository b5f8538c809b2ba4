"""A pipe, a socket or a device where a file is expected is named as what it is, and never read."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.base.opened import NoFileError, open_file
from tracekit.binding.occupancy import model_of_fit
from tracekit.commands.shell import run
from tracekit.policy.placement.interference import of_fit

_REPLAY = ("replay", "--workload", "paper000", "--out", "out", "--policy")
#: A command line, and what of its folder is a pipe.
_LINES: dict[str, tuple[tuple[str, ...], str]] = {
    "settings": (("--config", "mine.toml", "list", "policies"), "mine.toml"),
    "settings-found": (("list", "policies"), "tracekit.toml"),
    "policy-document": ((*_REPLAY, "mine.yaml"), "mine.yaml"),
    "policy-code": ((*_REPLAY, "./mine.py"), "mine.py"),
    "rebalancer": ((*_REPLAY, "first_fit", "--rebalance", "mine.yaml"), "mine.yaml"),
    "workload-csv": ((*_REPLAY, "first_fit", "--workload", "mine.csv"), "mine.csv"),
    "cases": (("score", "case.json"), "case.json"),
    "store": (("info", "store"), "store/manifest.json"),
    "stored": (("check", "store", "--verify"), "store/manifest.json"),
    "run": (("report", "myrun", "--out", "report.html"), "myrun/manifest.json"),
    "runs": (("compare", "myrun", "myrun"), "myrun/manifest.json"),
    "study": (("report", "mystudy", "--out", "report.html"), "mystudy/study.json"),
}


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """A pipe that is opened all the same waits for ever: that is a failure."""

    def over(*_: object) -> None:
        raise AssertionError("a pipe was opened")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", _LINES)
def test_a_pipe_is_named(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line, pipe = _LINES[name]
    (tmp_path / pipe).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / pipe)
    monkeypatch.chdir(tmp_path)
    assert run(list(line)) == 2
    assert pipe in capsys.readouterr().err


def test_a_pipe_in_the_folder_of_a_fit_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(NoFileError, match=r"manifest\.json"):
        model_of_fit(tmp_path, ["s"])
    os.mkfifo(tmp_path / "coefficients.parquet")
    with pytest.raises(NoFileError, match=r"coefficients\.parquet"):
        of_fit(tmp_path)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(NoFileError):
        open_file(Path("/dev/zero"))
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        with pytest.raises(NoFileError):
            open_file(tmp_path / "s")
    (tmp_path / "link").symlink_to("/dev/zero")
    with pytest.raises(NoFileError):
        open_file(tmp_path / "link")


@pytest.mark.parametrize(
    "words",
    [
        ["replay", "--workload", "paper000", "--policy", "first_fit", "--out"],
        ["run", "synth:tiny", "--out"],
        ["synth", "--preset", "tiny"],
        ["placement-bench", "--out"],
        ["report", "nothing", "--out"],
    ],
    ids=lambda words: words[0],
)
def test_a_result_that_is_to_be_put_at_a_url_is_refused_before_any_work(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It would become a folder called s3: here."""
    monkeypatch.chdir(tmp_path)
    assert run([*words, "s3://bucket/result"]) == 2
    assert "s3://bucket/result" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
