"""A worker is lost in the middle of an ingest and of call graphs: what it was at is done anew.

The first task that an executor begins says where it runs and goes no further, until that worker is
killed. So a task is always lost, and the others never wait for a clock.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from spark_support import SparkCluster, why_not
from store_support import tree_but_lock

import tracekit
from tracekit.analysis.callgraph.run import callgraph
from tracekit.store.folder import open_store
from tracekit.store.spark import session

REASON = why_not()
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.slow,
]
PATIENCE_S = 120.0
#: So few rows to a piece that there are more pieces than workers.
ROWS_AT_ONCE = 500


def test_an_ingest(
    cluster: SparkCluster, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there"
    losing(
        cluster,
        tmp_path / "at_work",
        monkeypatch,
        lambda: tracekit.ingest(traces, there, engine=cluster.engine),
    )
    tracekit.ingest(traces, tmp_path / "here")
    assert tree_but_lock(there) == tree_but_lock(tmp_path / "here")


def test_call_graphs(
    cluster: SparkCluster, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracekit.ingest(traces, tmp_path / "store")
    store = open_store(tmp_path / "store")
    there, here = tmp_path / "there", tmp_path / "here"

    def of_pieces() -> None:
        executors = session.SparkCrew(cluster.engine)
        callgraph(store, out=there, rows_at_once=ROWS_AT_ONCE, crew=executors)
        executors.close()

    losing(cluster, tmp_path / "at_work", monkeypatch, of_pieces)
    callgraph(store, out=here, rows_at_once=ROWS_AT_ONCE)
    assert tree_but_lock(there) == tree_but_lock(here)


def losing(
    cluster: SparkCluster,
    at_work: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[], object],
) -> None:
    """Do some work, and kill the worker that is at the first task of it."""
    from pyspark import cloudpickle  # noqa: PLC0415 - an optional extra

    before, run, own = len(cluster.workers), session._run, sys.modules[__name__]

    def held(sent: bytes) -> bytes:
        try:
            place = os.open(at_work, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return run(sent)
        os.write(place, str(Path.cwd()).encode())
        os.close(place)
        while True:
            time.sleep(1.0)

    def lose() -> None:
        while not (at_work.exists() and at_work.read_text()):
            time.sleep(0.02)
        folder = Path(at_work.read_text())
        cluster.kill_worker(next(place for place in cluster.workers if place in folder.parents))

    monkeypatch.setattr(session, "_run", held)
    cloudpickle.register_pickle_by_value(own)  # type: ignore[no-untyped-call]
    killer = threading.Thread(target=lose, daemon=True)
    killer.start()
    try:
        work()
    finally:
        cloudpickle.unregister_pickle_by_value(own)  # type: ignore[no-untyped-call]
    killer.join(PATIENCE_S)
    assert len(cluster.workers) == before - 1
