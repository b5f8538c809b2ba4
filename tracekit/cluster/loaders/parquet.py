"""Parquet: a folder that anybody may write, in the documented schema."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from tracekit.cluster import declared
from tracekit.cluster.checks import nothing_observed
from tracekit.cluster.loaders import WorkloadLoader, values
from tracekit.cluster.parquet.workload import workload_from_parquet
from tracekit.cluster.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Parquet(WorkloadLoader):
    """A folder of Parquet files states its own sizes and times; start and step are choices."""

    title: ClassVar[str] = "a folder of Parquet files in tracekit's own schema"
    source: ClassVar[str] = "written by the user; columns: docs/how-to/own-workload.md"
    files: ClassVar[str] = "nodes.parquet, containers.parquet and usage.parquet"

    start: declared.Start = declared.START
    step_ms: declared.StepMs = 0
    arrival_span_ms: declared.ArrivalSpanMs = declared.ARRIVAL_SPAN_MS

    def load(self, path: Path, rng: np.random.Generator) -> Workload:
        """Read the folder."""
        observed = self.start == "observed"
        span_ms = 0 if observed else self.arrival_span_ms
        load = workload_from_parquet(path, self.step_ms, span_ms=span_ms, rng=rng)
        load = dataclasses.replace(load, assumptions=values(self))
        return _observed(load) if observed else load

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Whether the folder holds one of the files."""
        return any((path / f"{name}.parquet").is_file() for name in ("nodes", "containers"))


def _observed(load: Workload) -> Workload:
    """The workload with what was there at its beginning pinned to its nodes.

    Raises
    ------
    TracekitError
        Where no container of the beginning has a node.
    """
    there = (load.arrival_ms <= load.times_ms[0]) & (load.recorded_node >= 0)
    if not there.any():
        raise nothing_observed()
    return dataclasses.replace(load, pinned=np.where(there, load.recorded_node, -1))
