"""Progress of long work: lines on stderr."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests_support import TraceFolder

from tracekit.commands.shell import run
from tracekit.commands.shell.progress import Lines


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_task_is_told_less_often_the_longer_it_takes() -> None:
    lines: list[str] = []
    clock = Clock()
    with Lines(lines.append, clock).task("steps", 3600, "steps") as task:
        for _ in range(3600):
            clock.now += 1
            task.advance(1)
    assert 15 <= len(lines) <= 25


def test_a_task_that_fails_or_has_nothing_to_do_is_not_said_to_be_done() -> None:
    messages: list[str] = []
    lines = Lines(messages.append)

    def failing() -> None:
        with lines.task("a", 1, "steps") as task:
            task.advance(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    with lines.task("b", 0, "steps"):
        pass
    assert messages == []


def test_piped_verbs_say_what_they_do(
    traces: TraceFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("TRACEKIT_QUIET")
    store, out = str(tmp_path / "store"), str(tmp_path / "run")
    assert run(["ingest", str(traces.path), store, "--json"]) == 0
    error_text = capsys.readouterr().err
    # the first before anything of it is read
    assert str(traces.path) in error_text.splitlines()[0]
    assert all(re.match(r" +[\d.]+ s  ", line) for line in error_text.splitlines())
    assert run(["replay", store, "--policy", "first_fit", "--out", out]) == 0
    assert len(capsys.readouterr().err.splitlines()) > 3


def test_quiet_is_quiet(
    traces: TraceFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["ingest", str(traces.path), str(tmp_path / "store")]
    for at in range(len(words) + 1):
        monkeypatch.setenv("TRACEKIT_QUIET", "")
        assert run([*words[:at], "-q", *words[at:]]) == 0
        assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar_and_the_lines(traces: TraceFolder, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "tracekit", "ingest", str(traces.path), str(tmp_path / "s")]
    quiet = {"TRACEKIT_QUIET": "", "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        command, stderr=follower, stdout=subprocess.DEVNULL, env={**os.environ, **quiet}
    ) as process:
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal is an error
            while read := os.read(leader, 4096):
                shown += read
    os.close(leader)
    assert process.returncode == 0
    text = shown.decode()
    assert "━" in text
    assert re.search(r"[\d.]+ k?B in [\d.]+ s", text)


def test_how_long_the_rest_takes_is_not_said_too_early_nor_beyond_the_whole() -> None:
    lines: list[str] = []
    clock = Clock()
    with Lines(lines.append, clock).task("stages", 100, "stages") as task:
        clock.now += 20
        task.advance(3)
        clock.now += 20
        task.advance(130)
    assert lines[0].endswith("stages: 3% of 100 stages")
    assert lines[1].endswith("stages: 100% of 100 stages")
