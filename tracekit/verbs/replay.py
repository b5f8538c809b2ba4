"""Replay a trace under policies: workload, policies, run, run folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracekit.progress import SILENT, Progress
from tracekit.replay.kept import Kept, kept_folder
from tracekit.replay.nearness import PARAMETER
from tracekit.replay.rebalance import parse_rebalancer
from tracekit.replay.repeat import repeat_replay
from tracekit.replay.replayer import Replayer
from tracekit.replay.run import Run, choose_policies
from tracekit.replay.run import replay as replay_once
from tracekit.replay.run_folder import RUN_FOLDER, write_run
from tracekit.replay.shared import shared
from tracekit.replay.source import Source, source_of
from tracekit.replay.workload import Workload
from tracekit.replay.workload_checks import check_feasible
from tracekit.spark import crew_of
from tracekit.store.crew import Crew, Workers


def replay(
    store: Path | str | None,
    policies: Sequence[str] = ("all",),
    *,
    out: Path | str,
    seed: int = 0,
    assume: Sequence[str] = (),
    workload: Path | str | None = None,
    rebalance: Sequence[str] = (),
    gangs: bool = False,
    repeats: int = 1,
    jobs: int = 1,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay a store's trace, or another workload, and write the run folder ``out``.

    Parameters
    ----------
    workload : path or str, optional
        What ``tracekit.replay.workloads.load_workload`` understands.
    rebalance : sequence of str
        Rebalance policies that each policy is replayed with once more; or write
        ``POLICY+REBALANCER`` among the policies.
    gangs : bool
        Whether the containers of a service are admitted together or not at all.
    repeats : int
        How many orders of arrival; more than one give the run intervals and differences.
    jobs : int
        Processes that replay side by side; they share one workload in memory.
    engine : str, optional
        A Spark engine, whose executors replay side by side; they read the workload themselves.

    Interrupted, it keeps the replays that are done; called again in the same way it goes on.

    Raises
    ------
    TracekitError
        When neither or both are given, a name or value is not known, or ``out`` is something else
        than a run folder.
    """
    RUN_FOLDER.check_free(Path(out))
    calls = any(PARAMETER in text for text in policies)
    source = source_of(store, workload, assume=assume, seed=seed, gangs=gangs, calls=calls)
    load = source.load()
    check_feasible(load)
    chosen = choose_policies(policies, load, [parse_rebalancer(text) for text in rebalance])
    kept = Kept(Path(out), load)
    with _beside(load, source, Path(out), jobs, engine) as (load, source_of_crew, crew):
        replayer = Replayer(kept=kept, crew=crew, source=source_of_crew)
        run = (
            replay_once(load, chosen, seed=seed, replayer=replayer, progress=progress)
            if repeats == 1
            else repeat_replay(
                load, chosen, seed=seed, repeats=repeats, replayer=replayer, progress=progress
            )
        )
    write_run(run, Path(out), store=None if store is None else Path(store))
    kept.forget()
    return run


@contextlib.contextmanager
def _beside(
    load: Workload, source: Source, out: Path, jobs: int, engine: str | None
) -> Iterator[tuple[Workload, Source, Crew | None]]:
    """Who replays beside this process, if anybody, and the workload as they and it have it."""
    with contextlib.ExitStack() as opened:
        crew: Crew | None = crew_of(engine)
        if crew is None and jobs > 1:
            source = opened.enter_context(shared(load, kept_folder(out) / "workload"))
            load, crew = source.load(), Workers(jobs)
        if crew is not None:
            opened.callback(crew.close)
        yield load, source, crew
