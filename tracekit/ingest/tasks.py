"""The two halves of taking in a file, as values that can be sent to another process."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.crew.crew import OnProgress
from tracekit.ingest.sort import Written
from tracekit.ingest.stage import sort, stage
from tracekit.ingest.staged import Staged
from tracekit.read.discover import identify


@dataclass(frozen=True)
class StageTask:
    """Read a file into its staging folder."""

    path: Path
    name: str
    release: str
    folder: Path
    beside: tuple[tuple[str, Path, str], ...] = ()

    def run(self, on_progress: OnProgress) -> tuple[Staged, ...]:
        """Raises TracekitError when the file is damaged; its staging folder is gone then."""
        # whoever began this before was lost
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        try:
            file = identify(self.path, self.name, self.release)
            return stage(replace(file, beside=self.beside), self.folder, on_progress)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise


@dataclass(frozen=True)
class SortTask:
    """Sort what was staged; see ``tracekit.ingest.stage.sort``."""

    staged: Staged
    counts: Mapping[str, int]
    memory_bytes: int

    def run(self, on_progress: OnProgress) -> Written:
        """Sorting tells nothing of its progress: it is short beside reading."""
        del on_progress
        return sort(self.staged, self.counts, self.memory_bytes)
