"""Stages of a whole run that need only the store, as tasks for a crew beside the replays."""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tracekit.analysis.callgraph.run import callgraph
from tracekit.analysis.run import analyze
from tracekit.base.constants import TRUTH
from tracekit.base.crew import Crew, OnProgress
from tracekit.base.files.result_folder import read_frame
from tracekit.base.progress import Progress, Task
from tracekit.commands.bind import bind
from tracekit.interference.binding import NothingToFitError
from tracekit.interference.run import fit_store, write_fit
from tracekit.replay.chance import FEWEST
from tracekit.store.folder import Store

#: The most containers that a run binds; this takes about a minute.
MOST_BOUND = 5000


@dataclass(frozen=True)
class AnalyzeStage:
    """Writes all analyses into a folder."""

    store: Store
    out: Path

    name = "analysis"

    def run(self, _: OnProgress) -> None:
        """Write the folder."""
        analyze(self.store, self.out)


@dataclass(frozen=True)
class CallStage:
    """Writes the call graphs into a folder by ``jobs`` processes; 1 while replays run."""

    store: Store
    out: Path
    jobs: int | None

    name = "call graphs"

    def run(self, _: OnProgress) -> None:
        """Write the folder."""
        callgraph(self.store, self.out, jobs=self.jobs)


@dataclass(frozen=True)
class FitStage:
    """Writes the fit of the cost of neighbours into a folder; writes none where data is missing.

    Parameters
    ----------
    traces : folder of the trace; that of a made-up trace also tells the vCPUs of containers
    """

    store: Store
    traces: Path
    out: Path

    name = "fit"

    def run(self, _: OnProgress) -> None:
        """Write the folder."""
        files = _seats(self.traces)
        binding, topology = files or (None, None)
        try:
            fitted = fit_store(self.store, binding=binding, topology=topology)
        except NothingToFitError:
            shutil.rmtree(self.out, ignore_errors=True)  # of an earlier run
        else:
            write_fit(fitted, self.out)


@dataclass(frozen=True)
class BindStage:
    """Replays a made-up trace down to the vCPU by a fit, and writes the result into a folder."""

    store: Store
    traces: Path
    fit: Path
    out: Path

    name = "placement down to the vCPU"

    def due(self) -> bool:
        """Return whether vCPUs are known, the fit has k1, and at most ``MOST_BOUND`` rows."""
        pooled = read_frame(self.fit / "pooled.parquet").row(0, named=True)
        can_bind = bool(_seats(self.traces)) and pooled["k1"] is not None
        return can_bind and self._count() <= MOST_BOUND

    def run(self, _: OnProgress) -> None:
        """Write the folder."""
        truth = self.traces / TRUTH / "binding.parquet"
        bind(self.store.path, fit=self.fit, truth=truth, out=self.out, repeats=FEWEST)

    def _count(self) -> int:
        return read_frame(self.fit / "rows.parquet").height


def _seats(traces: Path) -> tuple[Path, Path] | None:
    """The files of a made-up trace with the vCPUs of containers, and with the topology."""
    binding, topology = (traces / TRUTH / f"{name}.csv" for name in ("monitoring", "topology"))
    return (binding, topology) if binding.is_file() and topology.is_file() else None


def identified(fit: Path) -> bool:
    """Return whether a fit has k2, the cost of neighbours on the same socket or node."""
    return read_frame(fit / "pooled.parquet")["k2"][0] is not None


Stage = AnalyzeStage | CallStage | FitStage | BindStage


class RunningStages:
    """The stages of a run that worker processes do while the caller does other work."""

    def __init__(self, crew: Crew, progress: Progress, task: Task) -> None:
        self._crew, self._progress, self._task = crew, progress, task
        self._running: dict[str, Future[None]] = {}

    def begin(self, stage: Stage) -> None:
        """Begin a stage."""
        self._progress.stage(stage.name)
        future = self._crew.submit(stage, lambda *_: None)
        if future.done():
            # without further processes a failed stage ends the run here, not after the replays
            future.result()
        future.add_done_callback(partial(_advance, self._task, stage.name))
        self._running[stage.name] = future

    def ended(self, name: str) -> bool:
        """Wait for the end of a stage and return True; return False if no stage has the name."""
        if name in self._running:
            self._running[name].result()
        return name in self._running

    def end(self) -> None:
        """Wait for the end of all stages."""
        for future in self._running.values():
            future.result()


@contextlib.contextmanager
def under_way(stages: Sequence[Stage], crew: Crew, progress: Progress) -> Iterator[RunningStages]:
    """Begin stages on entry, yield them, and wait for all of them when the block ends."""
    # the binding begins after the fit
    later = sum(isinstance(stage, FitStage) and bool(_seats(stage.traces)) for stage in stages)
    with progress.task("other stages", len(stages) + later, "stages") as task:
        begun = RunningStages(crew, progress, task)
        for stage in stages:
            begun.begin(stage)
        yield begun
        begun.end()


def _advance(task: Task, name: str, done: Future[None]) -> None:
    """Count a stage as done, unless it failed."""
    if not done.cancelled() and done.exception() is None:
        task.advance(1, name)
