"""Writes a made-up trace: archives in the layout of the release, and the planted truth."""

import functools
import os
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.constants import TRUTH
from tracekit.base.crew import Crew, LostWorkerError, OnProgress, Workers, each_done
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT, Progress
from tracekit.base.progress import Task as Shown
from tracekit.synth import layout
from tracekit.synth.call_records import trace_starts
from tracekit.synth.container_usage import noise_states, row_count
from tracekit.synth.files import FOLDER as SIZES
from tracekit.synth.files import (
    Selection,
    SynthSummary,
    join_pieces,
    select,
    staged,
    summarise,
    write_manifest,
    write_nodes,
    write_rows,
    write_sizes,
    write_truth,
)
from tracekit.synth.node_usage import node_blocks, plan_nodes
from tracekit.synth.presets import Preset, get_preset
from tracekit.synth.room import PlantedDecision
from tracekit.synth.room_requests import CEILING_CPU_FRACTION, CEILING_MEMORY_FRACTION
from tracekit.synth.services import CPU
from tracekit.synth.shapes import Seeds
from tracekit.synth.table_file import Receipt
from tracekit.synth.tasks import (
    CallTask,
    FileRows,
    RateTask,
    Task,
    TaskResult,
    UsageTask,
    file_count,
    table_file,
)
from tracekit.synth.truth import (
    ContainerSums,
    HourSums,
    binding_table,
    defect_table,
    monitoring_table,
    node_rows,
    plant,
    service_table,
    topology_table,
)
from tracekit.synth.world import World, make_world


@dataclass(frozen=True)
class SentTask:
    """A task for a worker process, which draws the world of the trace again from the seed."""

    task: Task
    folder: Path
    preset: Preset
    seeds: Seeds

    def run(self, _: OnProgress) -> TaskResult:
        """Do the task; the world of the last task of this process is reused if it is the same."""
        return self.task.run(self.folder, _world(self.preset, self.seeds))


@functools.lru_cache(maxsize=1)
def _world(preset: Preset, seeds: Seeds) -> World:
    return make_world(preset, seeds)


def run_all(
    tasks: Sequence[Task], folder: Path, world: World, crew: Crew | None
) -> Iterator[tuple[Task, TaskResult]]:
    """Run every task, in this process or by a crew, and yield each with its result.

    When a task fails, the crew is closed before the error is raised, so that no process writes.
    """
    if crew is None:
        for task in tasks:
            yield task, task.run(folder, world)
        return
    try:
        sent = ((task, SentTask(task, folder, world.preset, world.seeds)) for task in tasks)
        for task, future in each_done(crew, sent):
            yield task, future.result()
    except LostWorkerError as error:
        crew.close()
        raise TracekitError(
            "a process that made up a part of the trace ended while at work",
            hint="it may have run out of memory: try --jobs 1",
        ) from error
    except BaseException:
        crew.close()
        raise


#: Fewer rows of containers are written by this process alone, before others would have started.
FEW_ROWS = 500_000
#: The memory of a process, its part for each container, and the limit for all processes together.
JOB_BYTES, JOB_BYTES_PER_CONTAINER = 250 << 20, 4500
ALL_JOBS_BYTES = 1500 << 20
#: The number of call files that one task writes.
CALL_FILES_PER_TASK = 12


def write(
    out: Path,
    *,
    preset: str = "small",
    seed: int = 0,
    jobs: int = 1,
    tables: Collection[str] = (),
    parts: Container[int] | None = None,
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> SynthSummary:
    """Write a made-up trace into the folder ``out``, and replace an earlier made-up trace there.

    The same preset and seed give the same bytes.

    Parameters
    ----------
    jobs : int
        The number of processes that write; the bytes do not depend on it. 0 chooses the number
        by cores, memory and the size of the trace.
    tables : collection of str
        Words or names of tables (``node``, ``resource``, ``rate``, ``call``, and ``size`` for
        the tables of nodes and containers, which the release lacks); all when empty.
    parts : container of int, optional
        Numbers of archives of each table; all when None. The bytes of an archive do not depend
        on the other archives. The truth then covers the written archives only.
    crew : Crew, optional
        Running processes, used where ``jobs`` is 0 and they are not too many. They are closed
        only after an error.

    Raises
    ------
    TracekitError
        For an unknown preset or table, parts that no table has, a negative seed or number of
        jobs, and a folder with other files.
    """
    plan, seeds = get_preset(preset), Seeds(seed)
    selection = select(tables, parts)
    if jobs < 0:
        raise TracekitError(f"--jobs {jobs}: expected 0 or more")
    _check_parts(plan, selection)
    folders = [*(kind.folder for kind in selection.layouts), *([SIZES] if selection.sizes else [])]
    fitting = jobs or _fitting_jobs(plan)
    taken = crew if crew is not None and not jobs and 1 < crew.size <= fitting else None
    with staged(out, [*folders, TRUTH]) as folder, _writers(fitting, taken) as writers:
        receipts = _Writer(folder, make_world(plan, seeds), selection, writers).write(progress)
        summary = summarise(out, preset, seed, receipts)
        write_manifest(folder / TRUTH, summary, plan)
    return summary


@contextmanager
def _writers(jobs: int, taken: Crew | None) -> Iterator[Crew | None]:
    """The given crew, or a new one; None where one process is enough."""
    if taken is not None or jobs == 1:
        yield taken
        return
    crew = Workers(jobs)
    try:
        yield crew
    finally:
        crew.close()


def _fitting_jobs(preset: Preset) -> int:
    """The number of processes for a trace, by cores and memory; 1 for a small trace."""
    if preset.containers * preset.steps < FEW_ROWS:
        return 1
    job_bytes = JOB_BYTES + JOB_BYTES_PER_CONTAINER * preset.containers
    return max(1, min(os.cpu_count() or 1, ALL_JOBS_BYTES // job_bytes))


def _check_parts(preset: Preset, selection: Selection) -> None:
    for kind in selection.layouts:
        files = file_count(preset, kind)
        if not selection.numbers(kind, files):
            raise TracekitError(
                f"{kind.stem} has parts 0 to {files - 1}, none of those asked for",
                hint="for example --parts 0-1",
            )


class _Writer:
    """Writes the files of one trace: the tasks, then the files that need the sums of all hours."""

    def __init__(self, folder: Path, world: World, selection: Selection, crew: Crew | None) -> None:
        self._folder, self._world, self._selection, self._crew = folder, world, selection, crew
        self._receipts: list[Receipt] = []
        self._sums: dict[int, HourSums] = {}
        (folder / TRUTH).mkdir()
        for kind in selection.layouts:
            (folder / kind.folder).mkdir()

    def _write_sizes(self) -> None:
        if self._selection.sizes:
            self._receipts += write_sizes(self._folder, self._world)

    def write(self, progress: Progress) -> list[Receipt]:
        """Write all files, and return the receipts of all archives."""
        # the long tasks of calls come first, so that all processes end together
        tasks = [*self._call_tasks(), *self._usage_tasks(), *self._rate_tasks()]
        nodes = layout.NODE in self._selection.layouts
        total = sum(task.archives for task in tasks) + nodes
        with progress.task("write trace", total, "archives") as shown:
            hours = sum(isinstance(task, UsageTask) for task in tasks)
            for task, done in run_all(tasks, self._folder, self._world, self._crew):
                self._receipts += done.receipts
                if done.sums is not None:
                    self._sums[done.sums.first_step] = done.sums
                    if len(self._sums) == hours:
                        self._write_usage_truth(shown, nodes=nodes)
                shown.advance(task.archives, task.name)
        join_pieces(self._folder)
        write_truth(self._folder, "service", service_table(self._world))
        self._write_interference()
        for name, table in decision_tables(self._world):
            write_truth(self._folder, name, table)
        self._write_sizes()
        defects = (defect for receipt in self._receipts for defect in receipt.defects)
        write_truth(self._folder, "defect", defect_table(defects))
        return self._receipts

    def _write_interference(self) -> None:
        """Write the planted binding to vCPUs and its cost; the trace itself has none of it."""
        planted = plant(self._world)
        write_truth(self._folder, "binding", binding_table(self._world, planted))
        write_rows(self._folder, "monitoring", monitoring_table(self._world, planted))
        write_rows(self._folder, "topology", topology_table(self._world))

    def _numbers(self, kind: layout.Layout) -> list[int]:
        return self._selection.numbers(kind, file_count(self._world.preset, kind))

    def _usage_tasks(self) -> Iterator[Task]:
        """The tasks of container usage; all hours where nodes or the truth need their sums."""
        wanted = self._numbers(layout.CONTAINER)
        every = self._selection.whole or layout.NODE in self._selection.layouts
        if not (every or wanted):
            return
        for number, state in enumerate(noise_states(self._world)):
            if every or number in wanted:
                yield UsageTask(number=number, state=state, written=number in wanted)

    def _rate_tasks(self) -> Iterator[Task]:
        wanted = self._numbers(layout.RATE)
        rows = [row_count(self._world, number) for number in range(self._world.preset.rate_files)]
        for number in wanted:
            yield RateTask(number=number, rows=FileRows(rows[number], sum(rows)))

    def _call_tasks(self) -> Iterator[Task]:
        """The tasks of calls: runs of neighbouring files, one run where one process writes."""
        wanted = self._numbers(layout.CALL)
        if not wanted:
            return
        starts = trace_starts(self._world.preset, self._world.seeds)
        longest = len(wanted) if self._crew is None else CALL_FILES_PER_TASK
        for first, last in _runs(wanted, longest):
            before = max(first - 1, 0)
            yield CallTask(first=first, archives=last - first + 1, starts=starts[before : last + 1])

    def _write_usage_truth(self, shown: Shown, *, nodes: bool) -> None:
        """Write the truth of containers, then the nodes: their use includes their containers'."""
        world = self._world
        if len(self._sums) < world.preset.hours:
            return
        sums = ContainerSums(world)
        for first_step in sorted(self._sums):
            sums.add(self._sums.pop(first_step))
        write_truth(self._folder, "container", sums.table(world))
        if not nodes:
            return
        plan = plan_nodes(world.preset, world.seeds)
        rows = FileRows(*2 * [world.preset.nodes * world.preset.steps])
        below = sums.node_cpu_fraction, sums.node_memory_peak_fraction
        with table_file(self._folder, world, layout.NODE, 0, rows) as file:
            blocks = write_nodes(file, world, plan, node_blocks(world, plan, *below))
            table = pl.concat([node_rows(world, plan, block) for block in blocks])
        write_truth(self._folder, "node", table)
        self._receipts += [file.receipt] if file.receipt else []
        shown.advance(1, "Node_0")


def _runs(numbers: list[int], longest: int) -> Iterator[tuple[int, int]]:
    """Runs of neighbouring numbers as (first, last), of at most ``longest`` numbers."""
    start = 0
    for at in range(1, len(numbers) + 1):
        ends = at == len(numbers) or numbers[at] != numbers[at - 1] + 1 or at - start == longest
        if ends:
            yield numbers[start], numbers[at - 1]
            start = at


#: A request of more than this multiple of the right request counts as over-stated.
OVER_STATED = 1.5


def decision_tables(world: World) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield name and table of each part of the answer planted in the trace; nothing without one.

    The answer says which nodes can be removed, where containers go, and which requests suffice.
    """
    if world.planted is None:
        return
    yield "decision", _decision(world, world.planted)
    yield "decision_node", _nodes(world, world.planted)
    yield "decision_service", _services(world, world.planted)
    yield "decision_container", _containers(world, world.planted)


def _prices(world: World) -> np.ndarray:
    kinds = world.node_sizes.kinds
    return np.array([kind.price_per_hour for kind in kinds])[world.node_sizes.shape]


def _decision(world: World, planted: PlantedDecision) -> pl.DataFrame:
    """One row: the nodes that are enough with right requests, the ceiling, the saving."""
    prices = _prices(world)
    return pl.DataFrame(
        {
            "all_nodes": [world.preset.nodes],
            "enough_nodes": [int((~planted.spare).sum())],
            "special_nodes": [int(world.node_sizes.special.sum())],
            "ceiling_cpu_fraction": [CEILING_CPU_FRACTION],
            "ceiling_memory_fraction": [CEILING_MEMORY_FRACTION],
            "hourly_price": [float(prices.sum().round(4))],
            "hourly_saving": [float(prices[planted.spare].sum().round(4))],
        }
    )


def _nodes(world: World, planted: PlantedDecision) -> pl.DataFrame:
    kinds = [world.node_sizes.kinds[shape] for shape in world.node_sizes.shape]
    return pl.DataFrame(
        {
            "node_id": world.nodes.ids,
            "sold_as": [kind.name for kind in kinds],
            "hourly_price": _prices(world),
            "special": ["gpu" if kind.gpus else kind.taint or None for kind in kinds],
            "spare": planted.spare,
        }
    )


def _services(world: World, planted: PlantedDecision) -> pl.DataFrame:
    """The requested and the right CPU of each service; requests for memory are about right."""
    requested = world.service_sizes.request[:, CPU] / 1000
    kinds = [None if at < 0 else world.node_sizes.kinds[at] for at in planted.bound_to]
    return pl.DataFrame(
        {
            "service_id": world.services.ids,
            "asked_cpu_cores": requested,
            "right_cpu_cores": planted.right_cpu_cores,
            "over_stated": requested > OVER_STATED * planted.right_cpu_cores,
            "bound_to": [("gpu" if kind.gpus else kind.taint) if kind else None for kind in kinds],
        }
    )


def _containers(world: World, planted: PlantedDecision) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "container_id": world.containers.ids,
            "home_node_id": world.nodes.ids.gather(planted.home),
        }
    )
