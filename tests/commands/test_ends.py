"""However a command ends, it ends as the shell expects: signals, readers that go, full disks."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import polars as pl
import pytest
from tests_support import TraceFolder

from tracekit.base.errors import system_error
from tracekit.commands.shell import run

#: Stands for the verbs: whatever one does, this strikes in the middle of it.
STRUCK = """
import os, signal, sys, time
import tracekit
from tracekit import commands
from tracekit.commands import shell as cli
from tracekit.base import registry
sign = signal.Signals[sys.argv.pop(1)]
def struck(*args, **options):
    os.kill(os.getpid(), sign)
    time.sleep(20)
for name in commands.function_names():
    setattr(tracekit, name, struck)
cli.main()
"""


def _hears_of_a_hangup() -> None:
    """What starts the tests may be deaf to it, and its children are."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_signal_ends_with_the_code_of_the_shell(name: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRUCK, name, "info", "store"],
        capture_output=True, text=True, check=False, timeout=30, preexec_fn=_hears_of_a_hangup,
    )  # fmt: skip
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") if name == "SIGINT" else not done.stderr


ENDED = """
import atexit, sys
import tracekit
from tracekit.commands import shell as cli
class Loaded:
    def __del__(self):
        print("taken apart", flush=True)
loaded = Loaded()
code = int(sys.argv.pop(1))
def ended(*args, **options):
    atexit.register(print, "asked for", end="")
    sys.exit(code)
tracekit.info = ended
cli.main()
"""


@pytest.mark.parametrize("code", [0, 7])
def test_what_is_wanted_at_the_end_is_done_and_nothing_is_taken_apart(code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDED, str(code), "info", "store"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (code, "asked for", "")


def test_a_hangup_is_ignored_under_nohup() -> None:
    code = STRUCK.replace("time.sleep(20)", "sys.exit(7)")
    code = code.replace("import os,", "import signal; signal.signal(1, signal.SIG_IGN)\nimport os,")
    done = subprocess.run(
        [sys.executable, "-c", code, "SIGHUP", "info", "store"], check=False, timeout=30
    )
    assert done.returncode == 7


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP])
def test_an_ingest_that_is_ended_leaves_nothing(
    traces: TraceFolder, tmp_path: Path, sign: signal.Signals
) -> None:
    store = tmp_path / "store"
    process = subprocess.Popen(
        [sys.executable, "-m", "tracekit", "ingest", str(traces.path), str(store), "--jobs", "2"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_hears_of_a_hangup,  # noqa: PLW1509 - no threads
    )  # fmt: skip
    while not (store / ".staging").exists() and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(sign)
    message = process.communicate(timeout=30)
    assert (process.returncode, *message) == (128 + sign, "", "")
    assert not store.exists() or not {".staging", ".lock"} & {p.name for p in store.iterdir()}
    assert not _workers_of(process.pid)
    assert run(["ingest", str(traces.path), str(store)]) == 0


def _workers_of(parent: int) -> list[str]:
    """Processes of the system that the one with this number started."""
    results = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[1]) == parent:
            results.append(status.parent.name)
    return results


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["list", "queries"], ["list", "queries", "--json"], []]
)
def test_a_reader_who_is_gone_is_no_error(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "tracekit", *arguments],
        stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.slow
def test_a_locale_of_ascii_is_no_error(tmp_path: Path) -> None:
    """A file name that this locale cannot say goes in under the name it has elsewhere."""
    folder = tmp_path / "in"
    TraceFolder.written(folder)
    (folder / "Node_0.csv").rename(folder / "Nöde_0.csv")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"}
    shown = {}
    for locale, words in (("ascii", environment), ("utf-8", dict(os.environ))):
        store = tmp_path / locale
        for call in (["ingest", str(folder), str(store)], ["info", str(store), "--json"]):
            done = subprocess.run(
                [sys.executable, "-m", "tracekit", *call],
                env=words, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, "")
        shown[locale] = json.loads(done.stdout)
    assert shown["ascii"] == shown["utf-8"]
    assert "Nöde_0.csv" in {source["file"] for source in shown["ascii"]["sources"]}


@pytest.mark.slow
def test_a_closed_output_is_no_error(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    call = f"exec '{sys.executable}' -m tracekit ingest '{traces.path}' '{store}' >&-"
    done = subprocess.run(["sh", "-c", call], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (store / "manifest.json").is_file()


def test_what_cannot_be_printed_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tracekit", "list", "queries"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


ENGINES = [
    pl.exceptions.ComputeError("No space left on device (os error 28)"),
    duckdb.IOException("IO Error: Could not write file 'a/b': No space left on device"),
    OSError(errno.ENOSPC, "No space left on device", "a/b"),
    OSError("No space left on device (os error 28)"),
]


@pytest.mark.parametrize("error", ENGINES, ids=repr)
def test_a_full_disk_is_told_as_one_by_whichever_engine_saw_it(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_store: object) -> None:
        raise error

    monkeypatch.setattr("tracekit.info", full)
    assert run(["info", "store"]) == 2
    assert capsys.readouterr().err.startswith("error: the disk")
    assert system_error(ValueError("os error 28")) is None


ODD = "a\x1b[31mb\x9bc\u202ed"


def test_what_would_steer_a_terminal_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def odd(*_: object, **__: object) -> pl.DataFrame:
        return pl.DataFrame({"id": [f"{ODD}\n"], "n": [1]})

    monkeypatch.setattr("tracekit.query", odd)
    assert run(["query", "store", "usage/zones"]) == 0
    assert r"a\x1b[31mb\u009bc\u202ed\n" in capsys.readouterr().out
    assert run(["query", "store", "usage/zones", "--format", "csv"]) == 0
    assert f'"{ODD}\n",1' in capsys.readouterr().out
    assert run(["query", "store", "usage/zones", "--format", "json"]) == 0
    shown = capsys.readouterr().out
    assert pl.read_json(shown.encode())["id"].to_list() == [f"{ODD}\n"]
    assert "\x1b" not in shown


def test_an_error_is_one_line_whatever_it_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "no\n hint: rm -rf\x1b[2J"]) == 2
    first, hint = capsys.readouterr().err.splitlines()
    assert first.endswith(r"no\n hint: rm -rf\x1b[2J")
    assert hint.startswith(" hint: ")
