"""Writing a made-up trace: archives in the layout of the release, and the truth beside them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tracekit.progress import SILENT, Progress, Task
from tracekit.synth import layout
from tracekit.synth.calls.directory import make_directory
from tracekit.synth.calls.records import call_files
from tracekit.synth.container_usage import usage_blocks, usage_hours
from tracekit.synth.faults import plan_faults
from tracekit.synth.layout import Layout, file_shape
from tracekit.synth.node_file import write_nodes
from tracekit.synth.node_usage import node_blocks, plan_nodes
from tracekit.synth.presets import Preset, get_preset
from tracekit.synth.rates import rate_blocks, rate_files, row_count
from tracekit.synth.seeds import Seeds
from tracekit.synth.staging import MANIFEST, SCHEMA, TRUTH, staged
from tracekit.synth.table_file import Receipt, TableFile
from tracekit.synth.truth import ContainerSums, defect_table, node_rows, service_table
from tracekit.synth.world import World, make_world


@dataclass(frozen=True, kw_only=True)
class SynthSummary:
    """What was written.

    Parameters
    ----------
    rows : dict of str to int
        Rows of each base table's files, broken ones included.
    truth : Path
        The folder with the planted truth.
    """

    out: Path
    preset: str
    seed: int
    files: int
    rows: dict[str, int]
    defects: dict[str, int]
    size_bytes: int
    truth: Path


def write(
    out: Path, *, preset: str = "small", seed: int = 0, progress: Progress = SILENT
) -> SynthSummary:
    """Write a made-up trace into the folder ``out``; same preset and seed, same bytes.

    An earlier made-up trace in ``out`` is replaced. Raises TracekitError for an unknown preset, a
    negative seed, and a folder that holds anything else.
    """
    plan, seeds = get_preset(preset), Seeds(seed)
    folders = [kind.folder for kind in (layout.NODE, layout.CONTAINER, layout.RATE, layout.CALL)]
    with staged(out, [*folders, TRUTH]) as folder:
        receipts = _Writer(folder, make_world(plan, seeds), progress).write()
        summary = _summary(out, preset, seed, receipts)
        _write_manifest(folder / TRUTH, summary, plan)
    return summary


class _Writer:
    """Writes the files of one trace, one archive after another."""

    def __init__(self, folder: Path, world: World, progress: Progress) -> None:
        self._folder, self._world, self._progress = folder, world, progress
        self._receipts: list[Receipt] = []
        (folder / TRUTH).mkdir()

    def write(self) -> list[Receipt]:
        preset = self._world.preset
        call_archives = preset.horizon_ms // preset.call_file_ms
        total = preset.hours + 1 + rate_files(self._world) + call_archives
        with self._progress.task("write trace", total, "archives") as task:
            self._write_usage(task)
            self._write_rates(task)
            self._write_calls(task)
        self._write_truth("service", service_table(self._world))
        defects = (defect for receipt in self._receipts for defect in receipt.defects)
        self._write_truth("defect", defect_table(defects))
        return self._receipts

    def _write_usage(self, task: Task) -> None:
        """Containers first: a node's use is at least that of its containers."""
        world, preset = self._world, self._world.preset
        sums = ContainerSums(world)
        table_rows = preset.containers * preset.steps
        for hour in usage_hours(world):
            with self._file(
                layout.CONTAINER, hour.number, preset.hours, hour.rows, table_rows
            ) as f:
                self._add_all(f, usage_blocks(world, hour))
            sums.add(hour)
            task.advance(1, f"MSResource_{hour.number}")
        self._write_truth("container", sums.table(world))
        plan = plan_nodes(preset, world.seeds)
        rows = preset.nodes * preset.steps
        below = sums.node_cpu_fraction, sums.node_memory_peak_fraction
        with self._file(layout.NODE, 0, 1, rows, rows) as file:
            blocks = write_nodes(file, world, plan, node_blocks(world, plan, *below))
            nodes = pl.concat([node_rows(world, plan, block) for block in blocks])
        self._write_truth("node", nodes)
        task.advance(1, "Node_0")

    def _write_rates(self, task: Task) -> None:
        files = rate_files(self._world)
        rows = [row_count(self._world, number) for number in range(files)]
        for number in range(files):
            with self._file(layout.RATE, number, files, rows[number], sum(rows)) as file:
                self._add_all(file, rate_blocks(self._world, number))
            task.advance(1, f"MSRTQps_{number}")

    def _write_calls(self, task: Task) -> None:
        preset, seeds = self._world.preset, self._world.seeds
        directory = make_directory(seeds, self._world.services.ids)
        files = preset.horizon_ms // preset.call_file_ms
        traces, calls = [], []
        for number, part in enumerate(call_files(preset, seeds, directory)):
            rows = part.rows.height
            with self._file(layout.CALL, number, files, rows, files * rows) as file:
                file.add(part.rows)
            traces.append(part.traces)
            calls.append(part.calls)
            task.advance(1, f"MSCallGraph_{number}")
        self._write_truth("trace", pl.concat(traces))
        self._write_truth("call", pl.concat(calls))

    @contextmanager
    def _file(
        self, kind: Layout, number: int, files: int, file_rows: int, table_rows: int
    ) -> Iterator[TableFile]:
        preset, rng = self._world.preset, self._world.seeds.stream(f"faults {kind.stem}", number)
        planned = plan_faults(
            kind,
            rng,
            number=number,
            files=files,
            file_rows=file_rows,
            table_rows=table_rows,
            share=preset.fault_share,
            minimum=preset.fault_minimum,
        )
        shape = file_shape(kind, number)
        with TableFile(self._folder, kind, shape, planned=planned, rng=rng) as file:
            yield file
        if file.receipt is not None:
            self._receipts.append(file.receipt)

    @staticmethod
    def _add_all(file: TableFile, blocks: Iterable[pl.DataFrame]) -> None:
        for block in blocks:
            file.add(block)

    def _write_truth(self, name: str, table: pl.DataFrame) -> None:
        table.write_parquet(self._folder / TRUTH / f"{name}.parquet", statistics=False)


def _summary(out: Path, preset: str, seed: int, receipts: list[Receipt]) -> SynthSummary:
    rows: Counter[str] = Counter()
    defects: Counter[str] = Counter()
    for receipt in receipts:
        rows[receipt.table] += receipt.rows
        defects.update(defect.action for defect in receipt.defects)
    return SynthSummary(
        out=out,
        preset=preset,
        seed=seed,
        files=len(receipts),
        rows=dict(rows),
        defects=dict(sorted(defects.items())),
        size_bytes=sum(receipt.size_bytes for receipt in receipts),
        truth=out / TRUTH,
    )


def _write_manifest(truth: Path, summary: SynthSummary, preset: Preset) -> None:
    document = {
        "schema": SCHEMA,
        "about": "made-up trace in the shape of CTM21; these tables hold what was planted in it",
        "preset": summary.preset,
        "seed": summary.seed,
        "title": preset.title,
        "horizon_ms": preset.horizon_ms,
        "files": summary.files,
        "rows": summary.rows,
        "defects": summary.defects,
        "size_bytes": summary.size_bytes,
    }
    (truth / MANIFEST).write_text(json.dumps(document, indent=2) + "\n")
