"""A store through any order of events: files come, an ingest is killed or fails, goes on, is read.

At any moment the rows that were read are stored, dropped as duplicates, or rejected. Whatever
happened before, a whole ingest has every file in: of a trace with the rows that the rules let pass,
of a cluster with those that a fresh store of all files has, the derived tables among them. A later
list of a cluster has its store made anew; a file of use alone has fractions worked out anew.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from doors._ingest import unbalanced
from doors.csv import fate
from forks import Fault, failing_calls, shared
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from kubernetes_support import CREATED_MS, listed, node, pod, written
from mutate import mutated_line
from tests_support import (
    NODE_HEADER,
    RESOURCE_HEADER,
    csv_text,
    few_or_many,
    node_lines,
    resource_lines,
)

from tracekit.store.folder import open_store
from tracekit.store.query import Database

_TABLES = {"Node": (NODE_HEADER, node_lines), "MSResource": (RESOURCE_HEADER, resource_lines)}
_WHOLE = ("--jobs", "1")
_INGEST = ("ingest", "given", "store", *_WHOLE)
_STEP_MS = 30_000
_PODS = 4
_MEASURED = {
    "cpu": "container_cpu_usage_seconds_total",
    "memory": "container_memory_working_set_bytes",
}
#: Seconds of a core, and bytes.
_SCALE = {"cpu": 1, "memory": 1_000_000}
#: What is read of a store: what was recorded, and what is worked out of it.
_READ = ("container", "node", "container_amount", "container_usage", "node_usage")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(failing_calls() is None, reason="no C compiler, or not Linux"),
]


class States(RuleBasedStateMachine):
    """A folder of files, and a store of them.

    Attributes
    ----------
    calls : int
        About as many calls on files as an ingest makes.
    """

    calls: ClassVar[int]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="store-states-"))
        self.store = self.folder / "store"
        self.forks = shared(faults=True)
        (self.folder / "given").mkdir()

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(at=st.integers(0, 10_000))
    def ingest_is_killed(self, at: int) -> None:
        fault = Fault(at=1 + at % self.calls, error=0)
        done = self.forks.run(*_INGEST, folder=self.folder, fault=fault)
        assert done.code in (0, -9), done.err

    @rule(at=st.integers(0, 10_000))
    def ingest_fails(self, at: int) -> None:
        fault = Fault(at=1 + at % self.calls)
        done = self.forks.run(*_INGEST, folder=self.folder, fault=fault)
        assert done.complaint is None, (done.what, done.complaint)

    @rule()
    def verify(self) -> None:
        if (self.store / "manifest.json").exists():
            done = self.forks.run("check", "store", "--verify", folder=self.folder)
            assert done.code == 0, done.out + done.err

    @invariant()
    def every_row_is_accounted_for(self) -> None:
        assert unbalanced(self.store) is None


class TraceStates(States):
    """Files of a trace, and how many rows of each are read and rejected."""

    calls = 600

    def __init__(self) -> None:
        super().__init__()
        self.fates: dict[str, tuple[int, int]] = {}

    @initialize()
    def begin(self) -> None:
        self.add_file("Node", 0, 0)

    @rule(
        table=st.sampled_from(sorted(_TABLES)),
        seed=st.integers(0, 2**32),
        damaged=st.integers(0, 4),
    )
    def add_file(self, table: str, seed: int, damaged: int) -> None:
        rng = np.random.Generator(np.random.PCG64(seed))
        header, make = _TABLES[table]
        lines = make()
        # some rows are drawn twice, and so dropped as duplicates
        lines = [
            lines[at] for at in rng.integers(len(lines), size=int(rng.integers(1, 40))).tolist()
        ]
        text = csv_text(header, lines)
        rows = text.split("\n")
        for _ in range(damaged):
            at = int(rng.integers(1, len(rows) - 1))
            rows[at] = mutated_line(rows[at], rng)
        rows[-1:] = [f"{len(lines)},{make()[0]}", ""]
        name = f"{table}_{len(self.fates)}.csv"
        (self.folder / "given" / name).write_bytes("\n".join(rows).encode())
        recorded = fate(table, "\n".join(rows))
        self.fates[name] = (recorded.read, recorded.rejected)

    @rule()
    def ingest(self) -> None:
        done = self.forks.run(*_INGEST, folder=self.folder)
        assert done.code == 0, done.err
        entries = json.loads((self.store / "manifest.json").read_text())["sources"]
        seen = {entry["file"]: (entry["rows_read"], entry["rejected"]) for entry in entries}
        assert seen == self.fates

    @rule()
    def query(self) -> None:
        if (self.store / "manifest.json").exists():
            words = ("query", "store", "quality/ledger", "--format", "json")
            done = self.forks.run(*words, folder=self.folder)
            assert done.code == 0, done.err
            assert isinstance(json.loads(done.out), list)


class ClusterStates(States):
    """Lists of a cluster and its use, and a fresh store to compare with."""

    calls = 2500

    def __init__(self) -> None:
        super().__init__()
        self.files: list[str] = []

    @initialize()
    def begin(self) -> None:
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
        done = self.forks.run(*_INGEST, folder=self.folder)
        assert done.code == 0, done.err
        shutil.rmtree(self.folder / "fresh", ignore_errors=True)
        fresh = self.forks.run("ingest", "given", "fresh", *_WHOLE, folder=self.folder)
        assert fresh.code == 0, fresh.err
        here, present = self._rows("store"), self._rows("fresh")
        assert present["container_usage"]
        for table in _READ:
            assert here[table] == present[table], table

    @rule(data=st.data())
    def ingest_one_file(self, data: st.DataObject) -> None:
        """A list that comes late cannot be taken in alone: that is told, and nothing is lost."""
        name = data.draw(st.sampled_from(self.files))
        before = self._derived()
        done = self.forks.run("ingest", f"given/{name}", "store", *_WHOLE, folder=self.folder)
        assert done.complaint is None
        assert done.code == 0 or "lists the cluster again" in done.err, done.err
        assert before <= self._derived()

    def _rows(self, store: str) -> dict[str, list[tuple[object, ...]]]:
        # a key is given to who comes first, and stays: it depends on the order of the files
        sql = "SELECT COLUMNS('.*([^y]|ity)$') FROM {} ORDER BY ALL"
        with Database(open_store(self.folder / store)) as database:
            return {table: database.frame(sql.format(table)).rows() for table in _READ}

    def _derived(self) -> set[str]:
        """The containers whose use is worked out."""
        if not (self.store / "manifest.json").exists():
            return set()
        with Database(open_store(self.store)) as database:
            return set(
                database.frame("SELECT DISTINCT container FROM container_usage")["container"]
            )


for _states in (TraceStates, ClusterStates):
    _states.TestCase.settings = settings(
        max_examples=few_or_many(3, 60),
        stateful_step_count=10,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
TestTraceStates, TestClusterStates = TraceStates.TestCase, ClusterStates.TestCase
