"""The disk full, the process killed, the store moved or read-only: nothing is lost or invented."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from store_support import tree_but_lock
from tests_support import TraceFolder, random_node_text, tar_gz

from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
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
    there = tmp_path / "it's there" / "store"
    with Database(open_store(there)) as database:
        assert database.scalar("SELECT count(*) FROM container_usage") == 72
    moved.rename(traces.path / "Node_0.csv")
    summary = ingest(traces.path, there)
    assert ([entry.table for entry in summary.ingested], len(summary.known)) == (["node_usage"], 3)


@pytest.mark.slow
def test_a_read_only_store_answers_and_is_not_written(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(traces.path / "Node_0.csv", store)
    for path in [store, *store.rglob("*")]:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    before = tree_but_lock(store)
    for asked in (
        ["info", store],
        ["check", store],
        ["query", store, "usage/zone_summary", "--format", "csv"],
    ):
        done = tracekit_command(*asked, privileged=False)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert done.stdout
    done = tracekit_command("ingest", traces.path, store, privileged=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {store} cannot be written: ")
    assert len(done.stderr.splitlines()) == 2
    assert tree_but_lock(store) == before
    for path in [store, *store.rglob("*")]:
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
