"""Replay a trace under policies: workload, policies, run, run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.progress import SILENT, Progress
from tracekit.replay.workload.declared import START, Start
from tracekit.verbs._options import (
    Assumed,
    Engine,
    Gangs,
    Option,
    RepeatsUpTo,
    ReplayedStore,
    RunFolder,
    starting,
)

if TYPE_CHECKING:
    from tracekit.replay.runs.run import Run


def replay(
    store: ReplayedStore,
    policies: Annotated[
        Sequence[str],
        Option(
            "A policy, or POLICY+REBALANCER; may be repeated.",
            names="--policy",
            completes="entrants",
            setting="policies",
            metavar="all|common|NAME[param=value,...]",
        ),
    ] = ("all",),
    *,
    out: RunFolder,
    seed: Annotated[int, Option("Same seed, same bytes.", minimum=0)] = 0,
    assume: Assumed = (),
    start: Start = START,
    workload: Annotated[
        Path | str | None,
        Option(
            "Replay this instead of a store: paper000, openb:PATH, tianchi18:PATH, or a"
            " folder in tracekit's own schema.",
            metavar="NAME[:PATH]|PATH",
            takes=str,
            completes="workloads",
        ),
    ] = None,
    rebalance: Annotated[
        Sequence[str],
        Option(
            "Replay each policy with this behind it too.",
            metavar="NAME[...]",
            completes="rebalancers",
        ),
    ] = (),
    gangs: Gangs = False,
    repeats: Annotated[
        int | None,
        Option(
            "Orders of arrival, each its own seed; without it as many as an interval needs (six),"
            " of all policies for the common ones. 1: no interval.",
            minimum=1,
            names="--repeat --seeds",
        ),
    ] = None,
    repeat_policies: Annotated[
        Sequence[str],
        Option(
            "Replay only these policies in all orders, the others in one; repeatable.",
            names="--repeat-policy",
            completes="policies",
            metavar="common|NAME[...]",
        ),
    ] = (),
    repeats_up_to: RepeatsUpTo = None,
    jobs: Annotated[int, Option("Policies to replay side by side.", minimum=1)] = 1,
    engine: Engine = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay a store's trace, or another workload, and write the run folder ``out``.

    Parameters
    ----------
    workload : path or str, optional
        What ``tracekit.replay.workload.loaders.load_workload`` understands.
    rebalance : sequence of str
        Rebalance policies that each policy is replayed with once more; or write
        ``POLICY+REBALANCER`` among the policies.
    gangs : bool
        Whether the containers of a service are admitted together or not at all.
    repeats : int, optional
        How many orders of arrival; more than one give the run intervals and differences. Without
        it six, the fewest that an interval needs: for each policy that is named, and of ``all``
        for those that are ``common``.
    repeat_policies : sequence of str
        Those of ``policies`` that meet every order, ``common`` for the ten that are compared first;
        the others meet one. All of them when empty.
    repeats_up_to : int, optional
        Where the orders leave open which policy is best, those that met them meet more, up to so
        many. It is then looked twice, so each look has half of what may go wrong.
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
    from tracekit.crew.crew import Workers
    from tracekit.spark import crew_of
    from tracekit.verbs._replaying import replay_by

    crew = crew_of(engine) or (Workers(jobs) if jobs > 1 else None)
    try:
        return replay_by(
            crew,
            store,
            policies,
            out=out,
            seed=seed,
            assume=starting(assume, start),
            workload=workload,
            rebalance=rebalance,
            gangs=gangs,
            repeats=repeats,
            repeat_policies=repeat_policies,
            repeats_up_to=repeats_up_to,
            progress=progress,
        )
    finally:
        if crew is not None:
            crew.close()
