"""The same answers on a Spark cluster of some workers; and a worker that is lost loses nothing."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from spark_support import ON_EXECUTOR, SparkCluster, why_not
from store_support import tree_but_lock

import tracekit
from tracekit.commands.shell import run as run_command
from tracekit.store.folder import open_store
from tracekit.store.query import Database
from tracekit.store.spark import SparkDatabase, open_session
from tracekit.store.sqlfiles import all_queries

if TYPE_CHECKING:
    from pyspark import SparkContext, StatusTracker

REASON = why_not()
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.slow,
]
RUN_FILES = ("manifest.json", "summary.parquet", "steps.parquet", "placements.parquet")
PATIENCE_S = 60.0

#: A task of some seconds for each worker, whatever the machine; the hint is a comment to DuckDB.
SLOW = """
SELECT node, count(*) AS samples, max(pause) AS pause
FROM (
    SELECT node, {pause} AS pause
    FROM (SELECT /*+ REPARTITION({workers}) */ node FROM node_usage)
)
GROUP BY node
ORDER BY node
"""

#: On an executor its replays wait for a gate, and the first tells where it runs.
GATED = '''
"""The first node that is free, behind a gate."""
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from tracekit.policy.placement import PlacementPolicy

AT_WORK, GATE = Path("{at_work}"), Path("{gate}")


@dataclass(frozen=True, kw_only=True)
class Gated(PlacementPolicy):
    """Prefer no node, and wait for a gate."""

    reads: ClassVar = frozenset({{"requests"}})
    source: ClassVar = "this test"
    limit_s: ClassVar = 120.0

    def score(self, snapshot, container, nodes):
        while "{on}" in os.environ and not GATE.exists():
            if not AT_WORK.exists():
                told = AT_WORK.with_suffix(f".{{os.getpid()}}")
                told.write_text(str(Path.cwd()))
                told.replace(AT_WORK)
            time.sleep(0.02)
        return np.zeros(len(nodes))
'''


@pytest.fixture(scope="module")
def store(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores") / "store"
    tracekit.ingest(traces, folder)
    return folder


def assert_alike(theirs: pl.DataFrame, ours: pl.DataFrame) -> None:
    """The same rows; sums in another order may differ in the twelfth digit, which is rounded."""
    assert_frame_equal(theirs, ours, rel_tol=1e-10, abs_tol=1e-11)


def test_every_query_gives_the_same_rows(cluster: SparkCluster, store: Path) -> None:
    opened = open_store(store)
    with SparkDatabase(opened, cluster.engine) as spark, Database(opened) as duckdb:
        read = {view for query in all_queries().values() for view in query.reads}
        # the others are views inside these
        for query in (one for one in all_queries().values() if one.view_name not in read):
            ours, theirs = duckdb.frame(query.text), spark.frame(query.text)
            assert theirs.schema == ours.schema, query.name
            assert_alike(theirs, ours)


def test_parameters_reach_the_query_and_those_it_reads(cluster: SparkCluster, store: Path) -> None:
    opened = open_store(store)
    with SparkDatabase(opened, cluster.engine) as spark, Database(opened) as duckdb:
        for name, given in (
            ("usage/node_profile", {"zone_limit": 0.05, "min_samples": 200}),
            ("usage/zone_summary", {"zone_limit": 0.05}),
            ("usage/zone_summary", {}),
            ("usage/node_series", {"node": "it's not there"}),
        ):
            text = all_queries()[name].text
            assert_alike(spark.frame(text, given), duckdb.frame(text, given))


def test_ingest_writes_the_store_that_one_machine_writes(
    cluster: SparkCluster, traces: Path, store: Path, tmp_path: Path
) -> None:
    tracekit.ingest(traces, tmp_path / "store", engine=cluster.engine)
    ours, theirs = tree_but_lock(store), tree_but_lock(tmp_path / "store")
    assert theirs.keys() == ours.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []


def test_call_graphs_are_the_same(cluster: SparkCluster, store: Path, tmp_path: Path) -> None:
    for name, engine in (("here", None), ("there", cluster.engine)):
        tracekit.callgraph(store, tmp_path / name, engine=engine)
    assert tree_but_lock(tmp_path / "here") == tree_but_lock(tmp_path / "there")


def test_the_command_line_takes_the_engine(
    cluster: SparkCluster, store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "zones.parquet"
    words = ["query", str(store), "usage/zone_summary", "--format", "parquet", "--out", str(out)]
    assert run_command([*words, "--engine", cluster.engine]) == 0
    assert_alike(pl.read_parquet(out), tracekit.query(store, "usage/zone_summary"))


def test_a_query_survives_the_loss_of_a_worker(cluster: SparkCluster, store: Path) -> None:
    """Every worker is at a task of it when one dies; the tests after it have one worker less."""
    opened = open_store(store)
    with SparkDatabase(opened, cluster.engine) as spark, Database(opened) as duckdb:
        before = len(cluster.workers)
        context = open_session(cluster.engine).sparkContext
        tracker = context.statusTracker()
        _all_there(context, before)
        failed: list[int] = []

        def lose() -> None:
            while not (stage := _at_work(tracker, before)):
                time.sleep(0.005)
            cluster.kill_worker()
            while not (result := tracker.getStageInfo(stage)) or not result.numFailedTasks:
                time.sleep(0.02)
            failed.append(result.numFailedTasks)

        killer = threading.Thread(target=lose, daemon=True)
        killer.start()
        # on a quick machine a task may end before the last one begins: then slower ones are asked
        for pause_ms in (4, 8, 16, 32):
            pause = f"reflect('java.lang.Thread', 'sleep', {pause_ms}L)"
            theirs = spark.frame(SLOW.format(workers=before, pause=pause))
            if len(cluster.workers) < before:
                break
        killer.join(PATIENCE_S)
        assert failed, "no task was lost"
        assert len(cluster.workers) == before - 1
        assert theirs.equals(duckdb.frame(SLOW.format(workers=before, pause="'null'")))


def _all_there(context: SparkContext, workers: int) -> None:
    """Wait for the executors of a session that has just begun; each of them has one core."""
    until = time.monotonic() + PATIENCE_S
    while context.defaultParallelism != workers:
        assert time.monotonic() < until, f"{context.defaultParallelism} of {workers} are there"
        time.sleep(0.02)


def _at_work(tracker: StatusTracker, workers: int) -> int | None:
    """The stage that all the workers are at."""
    stages = ((at, tracker.getStageInfo(at)) for at in tracker.getActiveStageIds())
    return next((at for at, row in stages if row and row.numActiveTasks == workers), None)


def test_a_sweep_survives_the_loss_of_a_worker(
    cluster: SparkCluster, store: Path, tmp_path: Path
) -> None:
    """The worker dies that is in the middle of a replay."""
    before = len(cluster.workers)
    at_work, gate = tmp_path / "at_work", tmp_path / "open"
    (tmp_path / "gated.py").write_text(GATED.format(on=ON_EXECUTOR, at_work=at_work, gate=gate))
    policies = [str(tmp_path / "gated.py"), "first_fit", "best_fit", "cwt", "random"]
    tracekit.replay(store, policies, out=tmp_path / "here", repeats=2)

    def lose() -> None:
        while not at_work.exists():
            time.sleep(0.02)
        folder = Path(at_work.read_text())
        cluster.kill_worker(next(place for place in cluster.workers if place in folder.parents))
        gate.touch()

    killer = threading.Thread(target=lose, daemon=True)
    killer.start()
    tracekit.replay(store, policies, out=tmp_path / "there", repeats=2, engine=cluster.engine)
    killer.join(PATIENCE_S)
    assert len(cluster.workers) == before - 1
    for name in (*RUN_FILES, "repeats.parquet", "differences.parquet"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
