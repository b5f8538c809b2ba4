"""Files at work at once: the same bytes as one after another, whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from store_support import tree, tree_but_lock
from tests_support import (
    CALL_HEADER,
    NODE_HEADER,
    TraceFolder,
    call_lines,
    csv_text,
    hex_id,
    node_lines,
    tar_gz,
)

from tracekit.base import crew
from tracekit.base.errors import CheckFailedError, TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import STAGING, open_store


@pytest.fixture
def many(traces: TraceFolder) -> TraceFolder:
    """More files than workers: overlapping ids, a damaged file, a copy, broken rows."""
    rng = np.random.Generator(np.random.PCG64(5))
    for number in range(1, 5):
        nodes = rng.permutation(40)[:9]
        lines = [f"{number * 900_000},{hex_id('node', n)},0.5,0.{n}" for n in nodes.tolist()]
        traces.write(f"Node_{number}.csv", NODE_HEADER, [*lines, "0,x,abc,1"])
    traces.write("MSCallGraph_1.csv", CALL_HEADER, [line + "7" for line in call_lines()])
    traces.write("MSCallGraph_2.csv", CALL_HEADER, call_lines())
    damaged = traces.path / "Node_9.tar.gz"
    tar_gz(damaged, {"Node_9.csv": csv_text(NODE_HEADER, node_lines(9, 400))})
    damaged.write_bytes(damaged.read_bytes()[:-20])
    return traces


@pytest.mark.slow
def test_the_number_of_jobs_does_not_show(many: TraceFolder, tmp_path: Path) -> None:
    for jobs in (1, 2, 3):
        with pytest.raises(TracekitError):
            ingest(many.path, tmp_path / str(jobs), jobs=jobs)
    assert tree(tmp_path / "1") == tree(tmp_path / "2") == tree(tmp_path / "3")
    assert len(open_store(tmp_path / "1").manifest.sources) == 8 + 1


@pytest.mark.slow
def test_a_refused_file_lets_those_before_it_in(traces: TraceFolder, tmp_path: Path) -> None:
    traces.write("MSRTQps_1.csv", "timestamp,msname,msinstanceid,metric,value", ["0,s,c,m,x"])
    entered = []
    for jobs in (1, 3):
        with pytest.raises(CheckFailedError):
            ingest(traces.path, tmp_path / str(jobs), jobs=jobs, max_rejects_fraction=0.5)
        entered.append([s.file for s in open_store(tmp_path / str(jobs)).manifest.sources])
    assert entered == [["MSCallGraph_0.csv", "MSRTQps_0.csv"]] * 2
    assert tree(tmp_path / "1") == tree(tmp_path / "3")


KILLED = "import sys; from tracekit.intake.ingest import ingest; ingest(*sys.argv[1:3], jobs=2)"


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("after_s", [0.9, 1.5])
def test_stopped_at_any_moment_it_goes_on_to_the_same_bytes(
    traces: TraceFolder, tmp_path: Path, how: signal.Signals, after_s: float
) -> None:
    for number in range(1, 6):
        traces.write(f"Node_{number}.csv", NODE_HEADER, node_lines(30 + number, 300))
    ingest(traces.path, tmp_path / "undisturbed")
    store = tmp_path / "store"
    command = [sys.executable, "-c", KILLED, str(traces.path), str(store)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as running:
        time.sleep(after_s)
        workers = children(running.pid)
        running.send_signal(how)
    assert_gone(workers)
    ingest(traces.path, store, jobs=2)
    assert tree_but_lock(store) == tree(tmp_path / "undisturbed")
    assert not (store / STAGING).exists()


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("this system does not tell the children of a process")
    return [int(child) for child in path.read_text().split()]


def assert_gone(pids: list[int]) -> None:
    until = time.monotonic() + 20
    while alive := [pid for pid in pids if _alive(pid)]:
        assert time.monotonic() < until, f"still there: {alive}"
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_worker_that_dies_is_one_clear_error(
    traces: TraceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = crew.Workers.__init__

    def lamed(self: crew.Workers, size: int, without: tuple[str, ...]) -> None:
        real(self, size, without)
        for worker in self._all:
            os.kill(worker._process.pid, signal.SIGKILL)

    monkeypatch.setattr(crew.Workers, "__init__", lamed)
    with pytest.raises(TracekitError):
        ingest(traces.path, tmp_path / "store", jobs=2)
    monkeypatch.undo()
    ingest(traces.path, tmp_path / "store", jobs=2)
    assert len(open_store(tmp_path / "store").manifest.sources) == 4


def test_little_memory_means_few_workers(traces: TraceFolder, tmp_path: Path) -> None:
    ingest(traces.path, tmp_path / "little", jobs=4, memory_limit_bytes=100 << 20)
    ingest(traces.path, tmp_path / "much")
    assert tree(tmp_path / "little") == tree(tmp_path / "much")


@pytest.mark.slow
def test_workers_that_are_there_are_taken_and_left_to_go_on(
    many: TraceFolder, tmp_path: Path
) -> None:
    ingest(many.path / "Node_1.csv", tmp_path / "alone", jobs=1)
    workers = crew.Workers(2)
    try:
        for name in ("first", "second"):
            ingest(many.path / "Node_1.csv", tmp_path / name, crew=workers)
            assert tree(tmp_path / name) == tree(tmp_path / "alone")
    finally:
        workers.close()


def test_workers_that_are_there_end_with_an_ingest_that_fails(
    traces: TraceFolder, tmp_path: Path
) -> None:
    traces.write("MSRTQps_1.csv", "timestamp,msname,msinstanceid,metric,value", ["0,s,c,m,x"])
    workers = crew.Workers(2)
    pids = [worker._process.pid for worker in workers._all]
    with pytest.raises(CheckFailedError):
        ingest(traces.path, tmp_path / "store", crew=workers, max_rejects_fraction=0.5)
    assert_gone(pids)
