"""Tasks that are written independently: an hour of use, half an hour of rates, some call files."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.synth import layout
from tracekit.synth.call_records import CallPart, CallWorld, call_parts
from tracekit.synth.call_trees import make_directory
from tracekit.synth.container_usage import NoiseState, rate_blocks, usage_blocks, usage_hour
from tracekit.synth.files import write_piece
from tracekit.synth.layout import Layout, file_shape, plan_faults
from tracekit.synth.presets import Preset
from tracekit.synth.table_file import Receipt, TableFile
from tracekit.synth.truth import HourSums, hour_sums
from tracekit.synth.world import World


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """The result of a task: receipts of its archives, and for an hour of use its sums."""

    receipts: list[Receipt] = field(default_factory=list)
    sums: HourSums | None = None


@dataclass(frozen=True)
class FileRows:
    """The numbers of rows of a file and of its table, by which faults are distributed."""

    here: int
    table: int


class Task(Protocol):
    """A piece of the trace that may be written by another process."""

    @property
    def name(self) -> str:
        """The name of the task's output, for progress."""

    @property
    def archives(self) -> int:
        """The number of archives that the task writes."""

    def run(self, folder: Path, world: World) -> TaskResult:
        """Write the archives."""


@dataclass(frozen=True, kw_only=True)
class UsageTask:
    """The task to write one hour of container use; if not ``written``, only to sum it up."""

    number: int
    state: NoiseState
    written: bool

    @property
    def name(self) -> str:
        """The name of the archive."""
        return f"MSResource_{self.number}"

    @property
    def archives(self) -> int:
        """One archive, or none if only sums are computed."""
        return int(self.written)

    def run(self, folder: Path, world: World) -> TaskResult:
        """Write the MSResource archive."""
        hour = usage_hour(world, self.number, self.state)
        receipts = []
        if self.written:
            preset = world.preset
            rows = FileRows(hour.rows, preset.containers * preset.steps)
            with table_file(folder, world, layout.CONTAINER, self.number, rows) as file:
                add_all(file, usage_blocks(world, hour))
            receipts = [file.receipt] if file.receipt else []
        return TaskResult(receipts=receipts, sums=hour_sums(world, hour))


@dataclass(frozen=True, kw_only=True)
class RateTask:
    """The task to write half an hour of call rates."""

    number: int
    rows: FileRows

    @property
    def name(self) -> str:
        """The name of the archive."""
        return f"MSRTQps_{self.number}"

    @property
    def archives(self) -> int:
        """One archive."""
        return 1

    def run(self, folder: Path, world: World) -> TaskResult:
        """Write the MSRTQps archive."""
        with table_file(folder, world, layout.RATE, self.number, self.rows) as file:
            add_all(file, rate_blocks(world, self.number))
        return TaskResult(receipts=[file.receipt] if file.receipt else [])


@dataclass(frozen=True, kw_only=True)
class CallTask:
    """The task to write call files from number ``first`` on.

    ``starts`` is the argument of ``call_parts``.
    """

    first: int
    archives: int
    starts: Sequence[IntArray]

    @property
    def name(self) -> str:
        """The name of the first archive."""
        return f"MSCallGraph_{self.first}"

    def run(self, folder: Path, world: World) -> TaskResult:
        """Write the MSCallGraph archives, and pieces of the truth about their traces."""
        directory = make_directory(world.seeds, world.services.ids)
        calls_from = CallWorld(preset=world.preset, seeds=world.seeds, directory=directory)
        parts = call_parts(calls_from, self.starts, self.first)
        receipts: list[Receipt] = []
        for number, first, rest in _by_file(parts):
            rows = FileRows(first.file_rows, first.file_rows * world.preset.call_files)
            traces, calls = [], []
            with table_file(folder, world, layout.CALL, number, rows) as file:
                for part in rest:
                    file.add(part.rows)
                    traces.append(part.traces)
                    calls.append(part.calls)
            receipts += [file.receipt] if file.receipt else []
            write_piece(folder, "trace", number, pl.concat(traces))
            write_piece(folder, "call", number, pl.concat(calls))
        return TaskResult(receipts=receipts)


def _by_file(parts: Iterator[CallPart]) -> Iterator[tuple[int, CallPart, Iterator[CallPart]]]:
    """The number of each file, its first part, and an iterator over all its parts."""
    ahead = next(parts, None)

    def same(number: int) -> Iterator[CallPart]:
        nonlocal ahead
        while ahead is not None and ahead.number == number:
            part = ahead
            yield part
            ahead = next(parts, None)

    while ahead is not None:
        yield ahead.number, ahead, same(ahead.number)


@contextmanager
def table_file(
    folder: Path, world: World, kind: Layout, number: int, rows: FileRows
) -> Iterator[TableFile]:
    """Open file ``number`` of a table, in which the faults planned for this file are planted."""
    preset, rng = world.preset, world.seeds.stream(f"faults {kind.stem}", number)
    planned = plan_faults(
        kind,
        rng,
        number=number,
        files=file_count(preset, kind),
        file_rows=rows.here,
        table_rows=rows.table,
        share=preset.fault_share,
        minimum=preset.fault_minimum,
    )
    with TableFile(folder, kind, file_shape(kind, number), planned=planned, rng=rng) as file:
        yield file


def file_count(preset: Preset, kind: Layout) -> int:
    """Return the number of archives of a table."""
    return {
        layout.NODE: 1,
        layout.CONTAINER: preset.hours,
        layout.RATE: preset.rate_files,
        layout.CALL: preset.call_files,
    }[kind]


def add_all(file: TableFile, blocks: Iterable[pl.DataFrame]) -> None:
    """Write blocks of rows as they are made."""
    for block in blocks:
        file.add(block)
