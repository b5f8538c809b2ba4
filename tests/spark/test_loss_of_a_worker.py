"""A worker is lost in the middle of an ingest and of call graphs: only what it was at is done anew.

All workers are halted, so that each has a task when one of them dies.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_support import SparkCluster, spark_cluster, why_not
from store_support import tree_but_lock

import tracekit
from tracekit.callgraph.run import callgraph
from tracekit.spark import open_session
from tracekit.spark.crew import SparkCrew
from tracekit.store import open_store

if TYPE_CHECKING:
    from pyspark import StatusTracker

REASON = why_not()
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.slow,
]
PATIENCE_S = 120.0
#: So few rows to a piece that there are more pieces than workers.
ROWS_AT_ONCE = 500


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    tracekit.synth(folder, preset="tiny")
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional extra

    with spark_cluster(tmp_path_factory.mktemp("spark")) as running:
        yield running
        session = SparkSession.getActiveSession()
        if session is not None:
            session.stop()


def test_an_ingest(cluster: SparkCluster, traces: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    failed = losing(cluster, lambda: tracekit.ingest(traces, there, engine=cluster.engine))
    assert failed == 1
    tracekit.ingest(traces, tmp_path / "here")
    assert tree_but_lock(there) == tree_but_lock(tmp_path / "here")


def test_call_graphs(cluster: SparkCluster, traces: Path, tmp_path: Path) -> None:
    tracekit.ingest(traces, tmp_path / "store")
    store = open_store(tmp_path / "store")
    there, here = tmp_path / "there", tmp_path / "here"

    def of_pieces() -> None:
        crew = SparkCrew(cluster.engine)
        callgraph(store, out=there, rows_at_once=ROWS_AT_ONCE, crew=crew)

    assert losing(cluster, of_pieces) == 1
    callgraph(store, out=here, rows_at_once=ROWS_AT_ONCE)
    assert tree_but_lock(there) == tree_but_lock(here)


def losing(cluster: SparkCluster, work: Callable[[], object]) -> int:
    """Do some work, lose a worker when each of them has a task, and count the tasks that fail."""
    context = open_session(cluster.engine).sparkContext
    before, tracker = len(cluster.workers), context.statusTracker()
    until(lambda: context.defaultParallelism == before)
    send(cluster, signal.SIGSTOP)
    doing = threading.Thread(target=work, daemon=True)
    doing.start()
    try:
        until(lambda: len(at_work(tracker)) == before)
        stages = at_work(tracker)
        cluster.kill_worker()
    finally:
        send(cluster, signal.SIGCONT)
    doing.join(PATIENCE_S)
    assert not doing.is_alive()
    assert len(cluster.workers) == before - 1
    told = [tracker.getStageInfo(stage) for stage in stages]
    return sum(one.numFailedTasks for one in told if one)


def at_work(tracker: StatusTracker) -> list[int]:
    """The stages that have a task on a worker."""
    stages = ((at, tracker.getStageInfo(at)) for at in tracker.getActiveStageIds())
    return [at for at, told in stages if told and told.numActiveTasks]


def send(cluster: SparkCluster, what: signal.Signals) -> None:
    """Send a signal to every worker and its executor."""
    for worker in cluster.workers.values():
        os.killpg(worker.pid, what)


def until(there: Callable[[], bool]) -> None:
    """Wait for something."""
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
