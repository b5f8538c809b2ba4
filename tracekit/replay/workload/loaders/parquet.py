"""Parquet: a folder that anybody may write, in the documented schema."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from tracekit.replay.workload.loaders import WorkloadLoader
from tracekit.replay.workload.parquet.workload import workload_from_parquet
from tracekit.replay.workload.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Parquet(WorkloadLoader):
    """A folder of Parquet files states its own sizes and times, so nothing is assumed."""

    title: ClassVar[str] = "a folder of Parquet files in tracekit's own schema"
    source: ClassVar[str] = "written by the user; columns: docs/how-to/own-workload.md"
    files: ClassVar[str] = "nodes.parquet, containers.parquet and usage.parquet"

    def load(self, path: Path, rng: np.random.Generator) -> Workload:  # noqa: ARG002
        """Read the folder."""
        return workload_from_parquet(path)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Whether the folder holds one of the files."""
        return any((path / f"{name}.parquet").is_file() for name in ("nodes", "containers"))
