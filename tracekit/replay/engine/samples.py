"""The samples of a replay: noted step by step, taken together while no container moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.engine.sampling import Counted, PlainSampler, Sampler
from tracekit.replay.engine.steps import step_schema
from tracekit.replay.view.usage import History, Reader
from tracekit.replay.workload.workload import Workload


class Samples:
    """Steps are noted as they pass; their use is added up when somebody asks, or before a move.

    Attributes
    ----------
    history : History
        What ``readers`` may know of the samples; complete once ``take`` was called.
    sampler : Sampler
        How sums over the containers of each node are taken.
    """

    def __init__(self, load: Workload, readers: Sequence[Reader]) -> None:
        self.history = History(readers, load)
        self.sampler: Sampler = PlainSampler(load)
        self._load = load
        self._noted = range(0)
        self._pending: list[int] = []
        self._moves: list[int] = []
        self._again: list[int] = []
        self._requested: IntArray | None = None

    def note(
        self, step: int, pending: int, moves: int, requested: IntArray, again: int = 0
    ) -> None:
        """Note that a step has passed; what runs stays as it is until ``take`` is called.

        Parameters
        ----------
        moves, again : int
            Containers that were moved, and how many of them had been before.
        requested : int64, shape (nodes, resources)
        """
        if not self._noted:
            self._requested = requested.T.copy().T
        self._noted = range(self._noted.start if self._noted else step, step + 1)
        self._pending.append(pending)
        self._moves.append(moves)
        self._again.append(again)
        self.history.note(step, requested)

    def take(self, running: BoolArray, node: IntArray) -> None:
        """Take the samples of all steps noted since the last call."""
        if not self._noted:
            return
        at = self._noted.start
        for fractions in self.sampler.sample(running, node, self._noted, self._requested):
            steps = range(at, at + len(fractions))
            self.history.add(steps, fractions)
            at = steps.stop
        self._noted = range(0)

    def count(self, running: BoolArray, node: IntArray) -> Counted:
        """Running containers and their requests on each node, counted from scratch."""
        return self.sampler.count(running, node)

    def frame(self) -> pl.DataFrame:
        """A row of measures for each step whose sample was taken."""
        times = self._load.times_ms[: len(self._pending)]
        columns: dict[str, Any] = {
            "time_ms": times,
            "settled": times >= self._load.settled_ms,
            "pending": np.array(self._pending, dtype=np.int64),
            "moves": np.array(self._moves, dtype=np.int64),
            "moved_again": np.array(self._again, dtype=np.int64),
        }
        columns.update(self.sampler.measures())
        schema = step_schema(self._load)
        return pl.DataFrame({name: columns[name] for name in schema}, schema, nan_to_null=True)
