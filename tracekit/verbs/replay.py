"""Replay a trace under policies: workload, policies, run, run folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.cluster.declared import START, Start
from tracekit.verbs._options import (
    Assumed,
    Currency,
    Engine,
    Gangs,
    Option,
    OtherWorkload,
    Policies,
    Prices,
    PriceTable,
    Repeats,
    RepeatsUpTo,
    ReplayedStore,
    RunFolder,
    Seed,
    SideBySide,
    priced,
    starting,
)

if TYPE_CHECKING:
    from tracekit.policy.schedulers import Schedulers
    from tracekit.replay.runs.run import Run


def replay(
    store: ReplayedStore,
    policies: Annotated[Policies, Option("A policy, or POLICY+REBALANCER; may be repeated.")] = (
        "all",
    ),
    *,
    out: RunFolder,
    seed: Annotated[Seed, Option("Same seed, same bytes.")] = 0,
    assume: Assumed = (),
    start: Start = START,
    prices: Prices = (),
    price_table: PriceTable = None,
    currency: Currency = None,
    workload: Annotated[
        OtherWorkload,
        Option(
            "Replay this instead of a store: paper000, openb:PATH, tianchi18:PATH, or a"
            " folder in tracekit's own schema.",
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
    schedulers: Annotated[
        int | None,
        Option(
            "Replay each policy by so many schedulers, too, each of which places on a view of its"
            " own of the cluster. Decisions whose node was filled meanwhile are counted and made"
            " again. Not for policies that decide in batches; it takes no compiled code.",
            metavar="SCHEDULERS",
        ),
    ] = None,
    cache_age: Annotated[
        str | None,
        Option("How old the view of each of --schedulers gets; without it 10s.", metavar="SPAN"),
    ] = None,
    gangs: Gangs = False,
    repeats: Annotated[
        Repeats,
        Option(
            "Orders of arrival, each its own seed; without it as many as an interval needs (six),"
            " of all policies for the common ones. 1: no interval.",
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
    jobs: Annotated[SideBySide, Option("Policies to replay side by side.")] = 1,
    engine: Engine = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay a store's trace, or another workload, and write the run folder ``out``.

    Parameters
    ----------
    workload : path or str, optional
        What ``tracekit.cluster.loaders.load_workload`` understands.
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
    from tracekit.base.crew.crew import Workers
    from tracekit.store.spark import crew_of
    from tracekit.verbs._replaying import replay_by

    crew = crew_of(engine) or (Workers(jobs) if jobs > 1 else None)
    try:
        return replay_by(
            crew,
            store,
            policies,
            out=out,
            seed=seed,
            assume=priced(starting(assume, start), prices, price_table, currency),
            workload=workload,
            rebalance=rebalance,
            schedulers=_schedulers(schedulers, cache_age),
            gangs=gangs,
            repeats=repeats,
            repeat_policies=repeat_policies,
            repeats_up_to=repeats_up_to,
            progress=progress,
        )
    finally:
        if crew is not None:
            crew.close()


def _schedulers(number: int | None, cache_age: str | None) -> Schedulers | None:
    """The several schedulers that are asked for; None for one."""
    from tracekit.base.errors import TracekitError
    from tracekit.base.units import MS_PER_S
    from tracekit.intake.fetch.spans import span_s
    from tracekit.policy.schedulers import Schedulers

    if number is not None and number < 1:
        raise TracekitError(f"--schedulers is {number}, expected at least 1")
    if number in {None, 1}:
        if cache_age is not None:
            raise TracekitError(
                "--cache-age is how old the views of several schedulers get, and one places alone",
                hint="for example --schedulers 2",
            )
        return None
    if cache_age is None:
        return Schedulers(number=number or 0)
    return Schedulers(number=number or 0, cache_age_ms=MS_PER_S * span_s(cache_age, "--cache-age"))
