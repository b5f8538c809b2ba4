"""``tracekit run`` killed at any moment goes on when it is run again, to the same bytes."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_support import tree
from tests_support import TraceFolder, few_or_many

import tracekit
from tracekit.answer import run_answer
from tracekit.replay.runs.replayer import StoredReplays, cache_folder

KILLS = few_or_many(1, 20)
POLICIES = ("first_fit", "best_fit", "random")


def run(source: str, folder: Path) -> subprocess.Popen[str]:
    """Start a run into ``folder/all``, in a process group of its own."""
    folder.mkdir(exist_ok=True)
    code = "import sys; from tracekit.commands.shell import main; main()"
    chosen = [word for name in POLICIES for word in ("--policy", name)]
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", source, "--out", "all", *chosen],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def contents(out: Path) -> dict[str, str]:
    """Every byte of a run, but for how long it took and the lock that a killed ingest leaves."""
    return {
        name: digest
        for name, digest in tree(out).items()
        if Path(name).name not in {"timing.parquet", ".lock"}
    }


def killed(source: str, folder: Path, at_s: float) -> float:
    """Start a run in ``folder`` and kill it: the seconds after which it was killed.

    One that ended before is no kill: another is begun, to be killed sooner.
    """
    while True:
        running = run(source, folder)
        try:
            running.wait(at_s)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            return at_s
        assert running.communicate()[1] == ""
        shutil.rmtree(folder)
        at_s *= 0.9


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(traces: TraceFolder, tmp_path: Path) -> None:
    source = str(traces.path) if KILLS == 1 else "synth:tiny"
    started = time.monotonic()
    first = run(source, tmp_path / "whole")
    assert (first.communicate()[1], first.returncode) == ("", 0)
    took_s = time.monotonic() - started
    rng = np.random.default_rng(18)
    for number, share in enumerate(rng.random(KILLS)):
        out = tmp_path / f"killed{number}"
        at_s = killed(source, out, took_s * share)
        again = run(source, out)
        _, message = again.communicate()
        assert again.returncode == 0, f"killed at {at_s:.1f} s: {message}"
        same = contents(out / "all") == contents(tmp_path / "whole" / "all")
        assert same, f"killed at {at_s:.1f} s"
        assert not [path for path in (out / "all").iterdir() if path.name.startswith(".")]
        print(f"killed at {at_s:.1f} of {took_s:.1f} s: the same bytes")  # noqa: T201 - for who asks for many


@pytest.mark.slow
def test_a_second_run_into_a_folder_is_refused_and_the_first_finishes(
    traces: TraceFolder, tmp_path: Path
) -> None:
    first = run(str(traces.path), tmp_path / "two")
    folder = tmp_path / "two" / "all"
    while not (folder / ".lock").exists():
        assert first.poll() is None
        time.sleep(0.01)
    # so few rows are soon through: it stands still while the second tries
    first.send_signal(signal.SIGSTOP)
    second = run(str(traces.path), tmp_path / "two")
    _, message = second.communicate()
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert "being written" in message
    assert (first.communicate()[1], first.returncode) == ("", 0)
    assert (folder / "report.html").is_file()
    assert not (folder / ".lock").exists()


@pytest.mark.slow
def test_nothing_is_left_of_a_run_that_could_not_begin(tmp_path: Path) -> None:
    refused = run("nowhere", tmp_path / "none")
    assert "error: " in refused.communicate()[1]
    assert not (tmp_path / "none" / "all").exists()


@pytest.mark.slow
def test_what_ends_while_nodes_are_counted_replays_nothing_again(
    traces: TraceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "all"
    begin = functools.partial(
        tracekit.run, traces.path, out, policies=POLICIES[:2], repeats=2, jobs=1
    )

    def ended(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    counted = run_answer.answer
    turns: Iterator[Callable[..., Any]] = iter([counted, ended])

    def ended_after_the_first_answer(*given: Any, **more: Any) -> Any:
        return next(turns)(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(run_answer, "answer", ended_after_the_first_answer)
        with pytest.raises(KeyboardInterrupt):
            begin()
    with monkeypatch.context() as patched:
        patched.setattr(StoredReplays, "put", ended)
        begin()
    assert (out / "report.html").exists()
    assert not cache_folder(out / "replay").exists()
