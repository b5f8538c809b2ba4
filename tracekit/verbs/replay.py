"""Replay a trace under policies: workload, policies, run, run folder."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from tracekit.crew import Crew, Workers
from tracekit.errors import TracekitError
from tracekit.places import place
from tracekit.progress import SILENT, Progress
from tracekit.replay.entrant import Entrant, parse_entrant
from tracekit.replay.kept import Kept, kept_folder
from tracekit.replay.nearness import PARAMETER
from tracekit.replay.placement import policies_of
from tracekit.replay.rebalance import RebalancePolicy, parse_rebalancer
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
    repeat_policies: Sequence[str] = (),
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
    repeat_policies : sequence of str
        Those of ``policies`` that meet every order, ``common`` for the ten that are compared first;
        the others meet one. All of them when empty.
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
    crew = _crew(jobs, engine)
    try:
        return replay_by(
            crew,
            store,
            policies,
            out=out,
            seed=seed,
            assume=assume,
            workload=workload,
            rebalance=rebalance,
            gangs=gangs,
            repeats=repeats,
            repeat_policies=repeat_policies,
            progress=progress,
        )
    finally:
        if crew is not None:
            crew.close()


def replay_by(
    crew: Crew | None,
    store: Path | str | None,
    policies: Sequence[str],
    *,
    out: Path | str,
    seed: int = 0,
    assume: Sequence[str] = (),
    workload: Path | str | None = None,
    rebalance: Sequence[str] = (),
    gangs: bool = False,
    repeats: int = 1,
    repeat_policies: Sequence[str] = (),
    progress: Progress = SILENT,
) -> Run:
    """As ``replay``, by a crew that is there already, or by this process."""
    RUN_FOLDER.check_free(Path(out))
    calls = any(PARAMETER in text for text in policies)
    source: Source = source_of(store, workload, assume=assume, seed=seed, gangs=gangs, calls=calls)
    load = source.load()
    check_feasible(load)
    behind = [parse_rebalancer(text) for text in rebalance]
    chosen = choose_policies(policies, load, behind)
    repeated = _repeated(repeat_policies, chosen, load, behind)
    kept = Kept(Path(out), load)
    with contextlib.ExitStack() as opened:
        if isinstance(crew, Workers):
            source = opened.enter_context(shared(load, kept_folder(Path(out)) / "workload"))
            # gone before the shared one is there: one of them may fit where two do not
            del load
            load = source.load()
        replayer = Replayer(kept=kept, crew=crew, source=source)
        run = (
            replay_once(load, chosen, seed=seed, replayer=replayer, progress=progress)
            if repeats == 1
            else repeat_replay(
                load,
                chosen,
                seed=seed,
                repeats=repeats,
                repeated=repeated,
                replayer=replayer,
                progress=progress,
            )
        )
    write_run(run, Path(out), store=None if store is None else place(store))
    kept.forget()
    return run


def _repeated(
    names: Sequence[str],
    chosen: Sequence[Entrant],
    load: Workload,
    rebalance: Sequence[RebalancePolicy],
) -> Sequence[Entrant]:
    """Those of the chosen that meet every order of arrival; production among them."""
    if not names:
        return chosen
    wanted = choose_policies(names, load, rebalance)
    strange = [text for text in names if policies_of(text) == [text] and not _in(text, chosen)]
    if strange:
        raise TracekitError(
            f"'{strange[0]}' is to meet every order of arrival, but is not replayed at all",
            hint=f"policies of this run: {', '.join(str(one) for one in chosen)}",
        )
    return [one for one in chosen if one in wanted]


def _in(text: str, chosen: Sequence[Entrant]) -> bool:
    return parse_entrant(text) in chosen


def _crew(jobs: int, engine: str | None) -> Crew | None:
    return crew_of(engine) or (Workers(jobs) if jobs > 1 else None)
