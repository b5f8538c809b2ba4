"""Everything in one call: ingest, check, analyse, replay, report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tracekit.crew.crew import Alone, Crew, Workers
from tracekit.errors import TracekitError
from tracekit.files.places import place
from tracekit.progress import Progress, Task
from tracekit.shown import Shown
from tracekit.synth import write as synthesize

if TYPE_CHECKING:
    from tracekit.store import Store
    from tracekit.verbs._stages import Stage

SYNTH = "synth:"
_AFTER_INGEST = "analysis, call graphs, fit and replays"
#: What a run writes.
_STAGES = (
    "store",
    "analysis",
    "calls",
    "fit",
    "bound",
    "replay",
    "studies",
    "report.html",
    "trace",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class RunSummary(Shown):
    """What a whole run left behind.

    Parameters
    ----------
    findings : tuple of str
        The numbers that matter most, in words.
    skipped : tuple of str
        Stages that were not done, each with the reason.
    """

    out: Path
    store: Path
    replay: Path | None
    report: Path
    defects: int
    findings: tuple[str, ...]
    skipped: tuple[str, ...]


def run_all(
    source: str | Path,
    out: str | Path,
    *,
    policies: Sequence[str],
    repeats: int | None,
    repeats_up_to: int | None = None,
    assume: Sequence[str],
    seed: int,
    jobs: int | None,
    memory_limit_bytes: int,
    progress: Progress,
) -> RunSummary:
    """See ``tracekit.verbs.run.run``."""
    out = Path(out)
    _check_out(out)
    with _crew(jobs or os.cpu_count() or 1) as crew:
        traces = _synthesize(str(source), out, seed, crew, progress)
        store = _stored(traces, out, memory_limit_bytes, crew, progress)
        skipped = _nothing_to_replay(store)
        nodes, unasked = "", ""
        alone = crew.size == 1
        stages = _stages(store, traces, out, crew, alone=bool(skipped))
        with _under_way(stages, crew, progress) as begun:
            fit = _fitted(begun, store.path, traces, out)
            from tracekit.report.render import render  # loaded while others work

            if not skipped:
                from tracekit.verbs._replaying import replay_by  # the same

                progress.stage(
                    "replay" if alone else "replay, side by side with these", then="report"
                )
                replay_by(
                    None if alone else crew,
                    store.path,
                    policies,
                    out=out / "replay",
                    seed=seed,
                    assume=assume,
                    repeats=repeats,
                    repeats_up_to=repeats_up_to,
                    repeat_policies=["common"] if list(policies) == ["all"] else [],
                    follow=list(policies) == ["all"],
                    fit=fit,
                    progress=progress,
                )
                progress.stage("how many nodes", then="report")
                nodes, unasked = _nodes(
                    out,
                    store,
                    policies=policies,
                    fit=fit,
                    assume=assume,
                    seed=seed,
                    crew=crew,
                    progress=progress,
                )
    progress.stage("report", then=f"open {out / 'report.html'}")
    shown = store.path if skipped else out / "replay"
    report = render(shown, out / "report.html", progress=progress)
    return RunSummary(
        out=out,
        store=store.path,
        replay=None if skipped else out / "replay",
        report=report.path,
        defects=pl.scan_parquet(out / "analysis" / "quality" / "ledger.parquet", glob=False)
        .select(pl.len())
        .collect()
        .item(),
        findings=(*report.findings[:1], *filter(None, [nodes]), *report.findings[1:]),
        skipped=(*skipped, *filter(None, [unasked])),
    )


@contextlib.contextmanager
def _crew(jobs: int) -> Iterator[Crew]:
    """Processes of this machine; stopped at once if anything goes wrong."""
    crew: Crew = Workers(jobs) if jobs > 1 else Alone()
    try:
        yield crew
    finally:
        crew.close()


def _stages(store: Store, traces: Path, out: Path, crew: Crew, *, alone: bool) -> list[Stage]:
    """What there is to do but replays; ``alone`` when there are none, and the cores are free."""
    from tracekit.verbs._stages import AnalyzeStage, CallStage, FitStage  # as above

    stages: list[Stage] = [AnalyzeStage(store.path, out / "analysis")]
    if any(entry.rows for entry in store.manifest.parts("call")):
        stages.append(CallStage(store.path, out / "calls", crew.size if alone else 1))
    if any(entry.rows for entry in store.manifest.parts("container_usage")):
        stages.insert(0, FitStage(store.path, traces, out / "fit"))
    return stages


class _Begun:
    """Stages that are under way beside what is done meanwhile."""

    def __init__(self, crew: Crew, progress: Progress, task: Task) -> None:
        self._crew, self._progress, self._task = crew, progress, task
        self._running: dict[str, Future[None]] = {}

    def begin(self, stage: Stage) -> None:
        """Have a stage done."""
        self._progress.stage(stage.name)
        future = self._crew.submit(stage, lambda *_: None)
        if future.done():
            # alone: a stage that failed ends the run here, not after the replays
            future.result()
        future.add_done_callback(partial(_tell, self._task, stage.name))
        self._running[stage.name] = future

    def ended(self, name: str) -> bool:
        """Wait for a stage; whether there is one of that name."""
        if name in self._running:
            self._running[name].result()
        return name in self._running

    def end(self) -> None:
        """Wait for all."""
        for future in self._running.values():
            future.result()


@contextlib.contextmanager
def _under_way(stages: Sequence[Stage], crew: Crew, progress: Progress) -> Iterator[_Begun]:
    """The stages begun before, and done after, what is done within."""
    # what is bound by the fit is begun when the fit is there
    later = sum(stage.name == "fit" for stage in stages)
    with progress.task("other stages", len(stages) + later, "stages") as task:
        begun = _Begun(crew, progress, task)
        for stage in stages:
            begun.begin(stage)
        yield begun
        begun.end()


def _fitted(begun: _Begun, store: Path, traces: Path, out: Path) -> Path | None:
    """The fit of this run once it is there, if it told what neighbours cost.

    What is bound by it is begun: policy ``interference`` and ``tracekit bind`` both place by it.
    """
    from tracekit.verbs._stages import BindStage, FitStage, identified  # as above

    if not begun.ended(FitStage.name):
        return None
    begun.begin(BindStage(store, traces, out / FitStage.name, out / "bound"))
    return out / FitStage.name if identified(out / FitStage.name) else None


def _nodes(
    out: Path,
    store: Store,
    *,
    policies: Sequence[str],
    fit: Path | None,
    assume: Sequence[str],
    seed: int,
    crew: Crew,
    progress: Progress,
) -> tuple[str, str]:
    """How many nodes the recommended policy needs, in words; or empty, and why it was not asked."""
    from tracekit.replay.policy.nearness import PARAMETER  # the crew is not kept waiting
    from tracekit.replay.studies.after_run import nodes_after
    from tracekit.replay.studies.shrink_told import short
    from tracekit.replay.workload.source import source_of

    calls = any(PARAMETER in text for text in policies)
    study, why = nodes_after(
        out / "replay",
        source_of(store.path, None, assume=assume, seed=seed, calls=calls),
        out / "studies" / "fewest",
        policies=policies,
        fit=fit,
        seed=seed,
        crew=crew,
        progress=progress,
    )
    return (short(study), "") if study else ("", f"how many nodes: {why}")


def _tell(task: Task, name: str, done: Future[None]) -> None:
    """What failed is told by what it raises."""
    if not done.cancelled() and done.exception() is None:
        task.advance(1, name)


def _check_out(out: Path) -> None:
    """A folder of something else is not written into; what a killed run left is a run's own."""
    if out.is_file():
        raise TracekitError(f"{out} is a file, expected a folder for the results")
    others = (
        sorted(path.name for path in out.iterdir() if not _ours(path.name)) if out.exists() else []
    )
    if others:
        raise TracekitError(
            f"{out} holds other files than a run's: {others[0]}",
            hint="name a new folder: --out DIR",
        )


def _ours(name: str) -> bool:
    """Whether a stage writes under this name, or puts its unfinished work under it."""
    return name in _STAGES or name.startswith(tuple(f".{stage}." for stage in _STAGES))


def _synthesize(source: str, out: Path, seed: int, crew: Crew, progress: Progress) -> Path:
    """The trace files, or the store; made now when the source is ``synth:<preset>``."""
    if not source.startswith(SYNTH):
        return place(source)
    progress.stage("synthesize", then="ingest")
    preset = source.removeprefix(SYNTH)
    # 0: these processes, or fewer where the preset is small or the memory bears no more
    jobs = 1 if crew.size == 1 else 0
    synthesize(out / "trace", preset=preset, seed=seed, jobs=jobs, crew=crew, progress=progress)
    return out / "trace"


def _stored(
    traces: Path, out: Path, memory_limit_bytes: int, crew: Crew, progress: Progress
) -> Store:
    """The trace as a store: the one that was given, or one made of its files under ``out``."""
    from tracekit.ingest import ingest  # the crew is not kept waiting
    from tracekit.store import open_store  # the same
    from tracekit.store.manifest import is_store  # the same

    if is_store(traces):
        progress.stage(f"read {traces}", then=_AFTER_INGEST)
        return open_store(traces)
    progress.stage("ingest", then=_AFTER_INGEST)
    ingest(
        traces,
        out / "store",
        jobs=crew.size,
        memory_limit_bytes=memory_limit_bytes,
        crew=crew,
        progress=progress,
    )
    return open_store(out / "store")


def _nothing_to_replay(store: Store) -> list[str]:
    from tracekit.replay.workload.sized.tables import is_sized  # the crew is not kept waiting

    if any(entry.rows for entry in store.manifest.parts("container_usage")) or is_sized(store):
        return []
    return ["replay: the trace has neither use nor requests of containers"]
