"""A store of a cluster through any order of events: lists of days, use, kills, failures.

A later list has the store made anew; a file of use alone has fractions worked out anew. Whatever
happened before, a whole ingest leaves the rows that a fresh store of all files has, the derived
tables among them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from doors._ingest import unbalanced
from forks import Fault, failing_calls, shared
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from kubernetes_support import CREATED_MS, listed, node, pod, written

from tracekit.store.folder import open_store
from tracekit.store.query import Database

#: Histories that are tried; the large form of the harness asks for more.
_HISTORIES = int(os.environ.get("TRACEKIT_STORE_HISTORIES", "2"))
_DAY_MS, _STEP_MS = 86_400_000, 30_000
_PODS = 4
_MEASURED = {
    "cpu": "container_cpu_usage_seconds_total",
    "memory": "container_memory_working_set_bytes",
}
#: Seconds of a core, and bytes.
_SCALE = {"cpu": 1, "memory": 1_000_000}
#: What is read of a store: what was recorded, and what is worked out of it.
_TABLES = ("container", "node", "container_amount", "container_usage", "node_usage")
_WHOLE = ("--jobs", "1")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(failing_calls() is None, reason="no C compiler, or not Linux"),
]


class ClusterStates(RuleBasedStateMachine):
    """A folder of lists and of use, a store, and a fresh store to compare it with."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="cluster-states-"))
        self.store = self.folder / "store"
        self.forks = shared(faults=True)
        self.files: list[str] = []

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize()
    def begin(self) -> None:
        (self.folder / "given").mkdir()
        self.add_list(left=0)
        self.add_use("cpu", at=0)
        self.add_use("memory", at=0)

    @rule(left=st.integers(0, _PODS - 1))
    def add_list(self, left: int) -> None:
        """The cluster on the next day: some pods are there no more, one has come."""
        day = 1 + sum(name.startswith("list") for name in self.files)
        came = {"creationTimestamp": f"2026-01-{day:02}T00:00:00Z"}
        pods = [pod(f"web-{at}", nodeName="n1") for at in range(left, _PODS)]
        objects = listed(node("n1"), node("n2"), *pods, pod(f"day-{day}", meta=came, nodeName="n2"))
        self._add(f"list{day:02}.json")
        written(self.folder / "given" / self.files[-1], objects)

    @rule(resource=st.sampled_from(sorted(_MEASURED)), at=st.integers(0, _PODS - 1))
    def add_use(self, resource: str, at: int) -> None:
        """Samples of one pod, of the hour after its last of the kind: a pair has fractions."""
        kind = f"{resource}{at}-"
        hour = sum(name.startswith(kind) for name in self.files)
        labels = f'__name__="{_MEASURED[resource]}", container="main", namespace="default"'
        lines = [
            f'{{{labels}, pod="web-{at}"}} {(step * 1.5 + hour + 1) * _SCALE[resource]} '
            f"{CREATED_MS + hour * 3_600_000 + step * _STEP_MS}\n"
            for step in range(6)
        ]
        self._add(f"{kind}{hour:02}.txt")
        (self.folder / "given" / self.files[-1]).write_text("".join(lines))

    def _add(self, name: str) -> None:
        self.files.append(name)

    @rule()
    def ingest(self) -> None:
        done = self.forks.run("ingest", "given", "store", *_WHOLE, folder=self.folder)
        assert done.code == 0, done.err
        shutil.rmtree(self.folder / "fresh", ignore_errors=True)
        fresh = self.forks.run("ingest", "given", "fresh", *_WHOLE, folder=self.folder)
        assert fresh.code == 0, fresh.err
        here, there = self._rows("store"), self._rows("fresh")
        assert there["container_usage"]
        for table in _TABLES:
            assert here[table] == there[table], table

    @rule(data=st.data())
    def ingest_one_file(self, data: st.DataObject) -> None:
        """A list that comes late cannot be taken in alone: that is told, and nothing is lost."""
        name = data.draw(st.sampled_from(self.files))
        before = self._derived()
        done = self.forks.run("ingest", f"given/{name}", "store", *_WHOLE, folder=self.folder)
        assert done.complaint is None
        assert done.code == 0 or "lists the cluster again" in done.err, done.err
        assert before <= self._derived()

    @rule(at=st.integers(1, 2500))
    def ingest_is_killed(self, at: int) -> None:
        words = ("ingest", "given", "store", *_WHOLE)
        done = self.forks.run(*words, folder=self.folder, fault=Fault(at=at, error=0))
        assert done.code in (0, -9), done.err

    @rule(at=st.integers(1, 2500))
    def ingest_fails(self, at: int) -> None:
        words = ("ingest", "given", "store", *_WHOLE)
        done = self.forks.run(*words, folder=self.folder, fault=Fault(at=at))
        assert done.complaint is None, (done.what, done.complaint)

    @rule()
    def verify(self) -> None:
        if (self.store / "manifest.json").exists():
            done = self.forks.run("check", "store", "--verify", folder=self.folder)
            assert done.code == 0, done.out + done.err

    @invariant()
    def every_row_is_accounted_for(self) -> None:
        assert unbalanced(self.store) is None

    def _rows(self, store: str) -> dict[str, list[tuple[object, ...]]]:
        # a key is given to who comes first, and stays: it depends on the order of the files
        sql = "SELECT COLUMNS('.*([^y]|ity)$') FROM {} ORDER BY ALL"
        with Database(open_store(self.folder / store)) as database:
            return {table: database.frame(sql.format(table)).rows() for table in _TABLES}

    def _derived(self) -> set[str]:
        """The containers whose use is worked out."""
        if not (self.store / "manifest.json").exists():
            return set()
        with Database(open_store(self.store)) as database:
            return set(
                database.frame("SELECT DISTINCT container FROM container_usage")["container"]
            )


ClusterStates.TestCase.settings = settings(
    max_examples=_HISTORIES,
    stateful_step_count=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestClusterStates = ClusterStates.TestCase
