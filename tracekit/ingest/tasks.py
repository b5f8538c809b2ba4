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
from tracekit.read.discover import TraceFile, identify
from tracekit.sources import Match, Source, TableFormat
from tracekit.store.manifest import DERIVED
from tracekit.tables import all_tables


def derived_file(path: Path, name: str) -> TraceFile:
    """A Parquet file in the store's own columns, called as the table it holds."""
    columns = [column.name for column in all_tables()[path.stem].columns]
    form = TableFormat(
        table=path.stem,
        word=path.stem,
        file_stem=path.stem,
        columns={column: (column,) for column in columns},
    )
    source = Source(name=DERIVED, title="Worked out", url="", missing_names=frozenset({""}))
    positions = {column: at for at, column in enumerate(columns)}
    match = Match(source=source, format=form, header=tuple(columns), positions=positions)
    return TraceFile(path=path, name=name, kind="parquet", match=match)


@dataclass(frozen=True)
class StageTask:
    """Read a file into its staging folder."""

    path: Path
    name: str
    release: str
    folder: Path
    beside: tuple[tuple[str, Path, str], ...] = ()
    stored_sizes: tuple[tuple[str, float, float], ...] = ()
    together_bytes: int = 0

    def run(self, on_progress: OnProgress) -> tuple[Staged, ...]:
        """Raises TracekitError when the file is damaged; its staging folder is gone then."""
        # whoever began this before was lost
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        try:
            file = (
                derived_file(self.path, self.name)
                if self.release == DERIVED
                else identify(self.path, self.name, self.release)
            )
            known = replace(
                file,
                beside=self.beside,
                stored_sizes=self.stored_sizes,
                together_bytes=self.together_bytes,
            )
            return stage(known, self.folder, on_progress)
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
