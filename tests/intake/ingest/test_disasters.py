"""The disk full, the process killed, the store moved or read-only: nothing is lost or invented."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from store_support import tree, tree_but_lock
from tests_support import NODE_HEADER, TraceFolder, csv_text, hex_id, random_node_text, tar_gz

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest, stage
from tracekit.store.folder import STAGING, open_store
from tracekit.store.query import Database

#: Takes root's privileges away: to root nothing is read-only.
_UNPRIVILEGED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")


def tracekit_command(
    *arguments: object, privileged: bool = True, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run tracekit in its own process, after the Python statements ``before``."""
    code = f"{before}\nimport sys; from tracekit.commands.shell import main; main()"
    first: tuple[str, ...] = ()
    if not privileged and os.geteuid() == 0:
        if shutil.which(_UNPRIVILEGED[0]) is None:
            pytest.skip("root may write anywhere, and setpriv is not at hand")
        first = _UNPRIVILEGED
    return subprocess.run(
        [*first, sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"},
    )


#: Ingests again and again in forked children, each killed after its own delay.
KILLED_AT_RANDOM = """
import os, signal, sys, threading, time
from tracekit.intake.ingest import ingest

source, store, *delays = sys.argv[1:]
for delay in delays:
    child = os.fork()
    if child == 0:
        threading.Timer(float(delay), os.kill, (os.getpid(), signal.SIGKILL)).start()
        ingest(source, store)
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture
def two_tables(traces: TraceFolder) -> Path:
    """Two archives: few tables keep a run short, so that many can be killed."""
    for name in ("MSCallGraph_0.csv", "MSResource_0.csv"):
        (traces.path / name).unlink()
    tar_gz(traces.path / "Node_1.tar.gz", {"Node_1.csv": random_node_text(20_000)})
    (traces.path / "Node_0.csv").unlink()
    return traces.path


@pytest.mark.slow
def test_killed_at_twenty_random_moments_it_goes_on_to_the_same_bytes(
    two_tables: Path, tmp_path: Path
) -> None:
    ingest(two_tables, tmp_path / "undisturbed")
    whole = tree_but_lock(tmp_path / "undisturbed")
    rng = np.random.default_rng(20)
    killed = 0
    store = tmp_path / "store"
    while killed < 20:
        delays = [f"{delay:.4f}" for delay in rng.uniform(0.0, 0.35, size=rng.integers(1, 5))]
        arguments = [str(two_tables), str(store), *delays]
        done = subprocess.run(
            [sys.executable, "-c", KILLED_AT_RANDOM, *arguments],
            check=True,
            capture_output=True,
            text=True,
        )
        ends = [int(line) for line in done.stdout.split()]
        assert set(ends) <= {0, 9}
        killed += ends.count(9)
        ingest(two_tables, store)
        assert tree_but_lock(store) == whole
        shutil.rmtree(store)


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("limit_bytes", [0, 100, 5_000, 250_000])
def test_no_room_while_writing_is_one_clear_error(
    two_tables: Path, tmp_path: Path, limit_bytes: int
) -> None:
    ingest(two_tables, tmp_path / "undisturbed")
    store = tmp_path / "store"
    ingest(two_tables / "MSRTQps_0.csv", store)
    before = tree_but_lock(store)
    done = tracekit_command("ingest", two_tables, store, before=LIMITED.format(limit_bytes))
    assert done.returncode == 2, done
    first, *rest = done.stderr.splitlines()
    assert "disk is full" in first
    assert str(store) in first
    assert len(rest) <= 1
    assert tree_but_lock(store) == before
    ingest(two_tables, store)
    with Database(open_store(store)) as database:
        assert database.scalar("SELECT count(*) FROM node_usage") == 20_000


def test_a_store_that_was_copied_is_whole_and_goes_on(traces: TraceFolder, tmp_path: Path) -> None:
    moved = traces.path.parent / "kept back.csv"
    (traces.path / "Node_0.csv").rename(moved)
    ingest(traces.path, tmp_path / "here")
    shutil.copytree(tmp_path / "here", tmp_path / "it's there" / "store")
    shutil.rmtree(tmp_path / "here")
    copy = tmp_path / "it's there" / "store"
    with Database(open_store(copy)) as database:
        assert database.scalar("SELECT count(*) FROM container_usage") == 72
    moved.rename(traces.path / "Node_0.csv")
    summary = ingest(traces.path, copy)
    assert ([entry.table for entry in summary.ingested], len(summary.known)) == (["node_usage"], 3)


@pytest.mark.slow
def test_a_read_only_store_answers_and_is_not_written(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(traces.path / "Node_0.csv", store)
    for path in [store, *store.rglob("*")]:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    before = tree_but_lock(store)
    for words in (
        ["info", store],
        ["check", store],
        ["query", store, "usage/zone_summary", "--format", "csv"],
    ):
        done = tracekit_command(*words, privileged=False)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert done.stdout
    done = tracekit_command("ingest", traces.path, store, privileged=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {store} cannot be written: ")
    assert len(done.stderr.splitlines()) == 2
    assert tree_but_lock(store) == before
    for path in [store, *store.rglob("*")]:
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


# An ingest that is cut short: a file is in the store or it is not, and the next one goes on.

KILLED_AT = """
import os, sys
from tracekit.intake.ingest import coordinate, dimensions, ingest, stage, write, written_folder

modules = {"coordinate": coordinate, "dimensions": dimensions, "stage": stage, "write": write,
           "written_folder": written_folder}
module = modules[sys.argv[3]]
real, calls = getattr(module, sys.argv[4]), 0

def killing(*args, **options):
    global calls
    calls += 1
    if calls == int(sys.argv[5]):
        os._exit(137)
    return real(*args, **options)

setattr(module, sys.argv[4], killing)
ingest(sys.argv[1], sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "at"),
    [
        ("written_folder", "write_manifest", 1),
        ("written_folder", "write_manifest", 2),
        ("written_folder", "write_catalog", 1),
        ("dimensions", "write_part", 2),
        ("stage", "write_sorted", 2),
        ("coordinate", "put", 1),
    ],
)
def test_a_killed_ingest_goes_on_to_the_same_bytes(
    traces: TraceFolder, tmp_path: Path, module: str, name: str, at: int
) -> None:
    ingest(traces.path, tmp_path / "undisturbed")
    store = tmp_path / "store"
    arguments = [str(traces.path), str(store), module, name, str(at)]
    killed = subprocess.run([sys.executable, "-c", KILLED_AT, *arguments], check=False)
    assert killed.returncode == 137
    ingest(traces.path, store)
    (store / ".lock").unlink(missing_ok=True)
    assert tree(store) == tree(tmp_path / "undisturbed")


def test_a_failed_first_ingest_leaves_no_folder(traces: TraceFolder, tmp_path: Path) -> None:
    whole = tmp_path / "Node_0.csv.gz"
    tar_gz(whole, {"Node_0.csv": (traces.path / "Node_0.csv").read_text()})
    whole.write_bytes(whole.read_bytes()[:-10])
    with pytest.raises(TracekitError):
        ingest(whole, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_the_good_files_beside_a_damaged_one_go_in(traces: TraceFolder, tmp_path: Path) -> None:
    bad = traces.path / "Node_7.tar.gz"
    rng = np.random.Generator(np.random.PCG64(1))
    values = rng.random((30000, 2)).tolist()
    lines = [f"{at * 30000},{hex_id('node', 1)},{c!r},{m!r}" for at, (c, m) in enumerate(values)]
    tar_gz(bad, {"Node_7.csv": csv_text(NODE_HEADER, lines)})
    bad.write_bytes(bad.read_bytes()[:-20])
    with pytest.raises(TracekitError):
        ingest(traces.path, tmp_path / "store")
    assert len(open_store(tmp_path / "store").manifest.sources) == 4


@contextmanager
def writing_raises(error: BaseException) -> Iterator[None]:
    """Every table that would be written raises the error instead."""

    def raising(*_args: object, **_options: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stage, "write_sorted", raising)
        yield


def test_ctrl_c_leaves_the_store_as_it_was(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(traces.path / "Node_0.csv", store)
    before = tree(store)
    with writing_raises(KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        ingest(traces.path, store)
    assert tree(store) == before
    assert not (store / STAGING).exists()


# Two ingests into one store at once: one is refused and touches nothing, the other finishes.

#: Waits at its second file until it is told to go on.
WAITS = """
import sys, time
from pathlib import Path
from tracekit.intake.ingest import ingest, stage

real, calls, signs = stage.write_sorted, 0, Path(sys.argv[3])

def waiting(*args):
    global calls
    calls += 1
    if calls == 2:
        (signs / "waits").touch()
        while not (signs / "go").exists():
            time.sleep(0.01)
    return real(*args)

stage.write_sorted = waiting
ingest(sys.argv[1], sys.argv[2])
"""

#: Begins round after round together with others, each time into a store that is not there yet.
TOGETHER = """
import sys, time
from pathlib import Path
from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest

signs, me, rounds = Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
for number in range(rounds):
    (signs / f"{number}.{me}").touch()
    while len(list(signs.glob(f"{number}.*"))) < int(sys.argv[6]):
        time.sleep(0.0005)
    try:
        ingest(sys.argv[1], f"{sys.argv[2]}.{number}")
        print(number, "done")
    except TracekitError as error:
        print(number, "is being written" if "is being written by" in error.what else repr(error))
"""


@pytest.mark.slow
@pytest.mark.parametrize("begun", [False, True])
def test_a_second_ingest_is_refused_and_the_first_finishes(
    traces: TraceFolder, tmp_path: Path, begun: bool
) -> None:
    store, whole = tmp_path / "store", tmp_path / "undisturbed"
    if begun:
        ingest(traces.path / "Node_0.csv", store)
        ingest(traces.path / "Node_0.csv", whole)
    ingest(traces.path, whole)
    arguments = [str(traces.path), str(store), str(tmp_path)]
    with subprocess.Popen([sys.executable, "-c", WAITS, *arguments]) as first:
        until = time.monotonic() + 60
        while not (tmp_path / "waits").exists():
            assert first.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        before = tree(store)
        with pytest.raises(TracekitError):
            ingest(traces.path, store)
        assert tree(store) == before
        (tmp_path / "go").touch()
    assert first.returncode == 0
    assert tree(store) == tree(whole)


@pytest.mark.slow
def test_ingests_that_start_together_before_the_store_is_there(
    traces: TraceFolder, tmp_path: Path
) -> None:
    rounds, writers = 6, 2
    ingest(traces.path, tmp_path / "undisturbed")
    signs = tmp_path / "signs"
    signs.mkdir()
    command = [sys.executable, "-c", TOGETHER, str(traces.path), str(tmp_path / "store")]
    running = [
        subprocess.Popen(
            [*command, str(signs), str(me), str(rounds), str(writers)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for me in range(writers)
    ]
    lines = [line for one in running for line in one.communicate(timeout=120)[0].splitlines()]
    assert len(lines) == rounds * writers
    for number in range(rounds):
        outcomes = {line.partition(" ")[2] for line in lines if line.startswith(f"{number} ")}
        assert "done" in outcomes
        assert outcomes <= {"done", "is being written"}
        stored = tree(tmp_path / f"store.{number}")
        assert stored == tree(tmp_path / "undisturbed")
