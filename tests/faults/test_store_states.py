"""A store through any order of events: files come, an ingest is killed or fails, goes on, is read.

At any moment the rows that were read are stored, dropped as duplicates, or rejected; whatever
happened before, a whole ingest has every file in, with the rows that the rules let pass.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from doors._ingest import unbalanced
from doors.csv import fate
from forks import Fault, failing_calls, shared
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from mutate import mutated_line
from tests_support import NODE_HEADER, RESOURCE_HEADER, csv_text, node_lines, resource_lines

#: Histories that are tried; the large form of the harness asks for more.
_HISTORIES = int(os.environ.get("TRACEKIT_STORE_HISTORIES", "3"))
_TABLES = {"Node": (NODE_HEADER, node_lines), "MSResource": (RESOURCE_HEADER, resource_lines)}
_INGEST = ("ingest", "traces", "store", "--jobs", "1")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(failing_calls() is None, reason="no C compiler, or not Linux"),
]


class StoreStates(RuleBasedStateMachine):
    """A folder of traces, a store, and what is known of both."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="store-states-"))
        self.store = self.folder / "store"
        self.forks = shared(faults=True)
        self.fates: dict[str, tuple[int, int]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize()
    def begin(self) -> None:
        (self.folder / "traces").mkdir()
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
        (self.folder / "traces" / name).write_bytes("\n".join(rows).encode())
        known = fate(table, "\n".join(rows))
        self.fates[name] = (known.read, known.rejected)

    @rule()
    def ingest(self) -> None:
        done = self.forks.run(*_INGEST, folder=self.folder)
        assert done.code == 0, done.err
        entries = json.loads((self.store / "manifest.json").read_text())["sources"]
        seen = {entry["file"]: (entry["rows_read"], entry["rejected"]) for entry in entries}
        assert seen == self.fates

    @rule(at=st.integers(1, 600))
    def ingest_is_killed(self, at: int) -> None:
        done = self.forks.run(*_INGEST, folder=self.folder, fault=Fault(at=at, error=0))
        assert done.code in (0, -9), done.err

    @rule(at=st.integers(1, 600))
    def ingest_fails(self, at: int) -> None:
        done = self.forks.run(*_INGEST, folder=self.folder, fault=Fault(at=at))
        assert done.complaint is None, (done.what, done.complaint)

    @rule()
    def verify(self) -> None:
        if (self.store / "manifest.json").exists():
            done = self.forks.run("check", "store", "--verify", folder=self.folder)
            assert done.code == 0, done.out + done.err

    @rule()
    def query(self) -> None:
        if (self.store / "manifest.json").exists():
            words = ("query", "store", "quality/ledger", "--format", "json")
            done = self.forks.run(*words, folder=self.folder)
            assert done.code == 0, done.err
            assert isinstance(json.loads(done.out), list)

    @invariant()
    def every_row_is_accounted_for(self) -> None:
        assert unbalanced(self.store) is None


StoreStates.TestCase.settings = settings(
    max_examples=_HISTORIES,
    stateful_step_count=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestStoreStates = StoreStates.TestCase
