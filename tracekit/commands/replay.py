"""tracekit replay: put a workload through placement policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.cluster.declared import START, Start
from tracekit.commands._options import (
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
    with_prices,
    with_start,
)
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_lines, print_table
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.policy.entrant import Schedulers
    from tracekit.replay.runs.results import Results
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
            "Ingest and replay this instead of a store: paper000, openb:PATH, tianchi18:PATH, or a"
            " path of any files that ingest takes.",
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
            " for policies not named as long as they may be recommended. 1: no interval.",
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
        A workload of ``tracekit.cluster.named``, or a path.
    repeats_up_to : int, optional
        The number of orders after addition, where ``repeats`` orders leave open which policy is
        best. Each of the two looks has half of the permitted error.
    jobs : int
        The number of processes that replay side by side; they share one workload in memory.
    engine : str, optional
        A Spark engine, whose executors replay side by side; each reads the workload.

    An interrupted call keeps its finished replays, and the same call goes on.

    Raises
    ------
    TracekitError
        For neither or both of store and workload, an unknown name or value, and an ``out`` that is
        not a run folder.
    """
    from tracekit.base.crew import Workers
    from tracekit.commands._replaying import replay_by
    from tracekit.policy.entrant import Entrants, parse_rebalancer
    from tracekit.store.folder import open_store
    from tracekit.store.spark import crew_of

    # before anything is read
    entrants, repeated = Entrants.of(policies), Entrants.of(repeat_policies)
    crew = crew_of(engine) or (Workers(jobs) if jobs > 1 else None)
    try:
        return replay_by(
            crew,
            None if store is None else open_store(store),
            entrants,
            out=out,
            seed=seed,
            assume=with_prices(with_start(assume, start), prices, price_table, currency),
            workload=workload,
            rebalance=[parse_rebalancer(text) for text in rebalance],
            schedulers=_schedulers(schedulers, cache_age),
            gangs=gangs,
            repeats=repeats,
            repeat_policies=repeated,
            repeats_up_to=repeats_up_to,
            progress=progress,
        )
    finally:
        if crew is not None:
            crew.close()


def _schedulers(number: int | None, cache_age: str | None) -> Schedulers | None:
    """The given number of schedulers; None for one scheduler."""
    from tracekit.base.errors import TracekitError
    from tracekit.base.units import MS_PER_S
    from tracekit.intake.fetch.server import span_s
    from tracekit.policy.entrant import Schedulers

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


PANEL = Panel.replay


def command(call: Call, out: Path, json: JsonOption = False) -> None:
    """Replay a workload under placement policies, beside production and a lower bound.

    Without --policy every policy is replayed with its defaults. Named policies meet six orders of
    arrival, others as long as they may be recommended. A policy is called better only where an
    interval shows it. --repeat 20 gives more orders, --repeat 1 gives one.
    Every policy also takes near_weight=W: with weight W it prefers nodes that keep calls between
    services on the node.
    After an interruption the same command goes on.

    Example: tracekit replay mystore --policy first_fit --policy least_allocated --out run
    """
    from tracekit.base.facts import read_answer
    from tracekit.replay.runs.results import results
    from tracekit.replay.runs.run_folder import manifest_of
    from tracekit.report.sentences import document
    from tracekit.report.terminal import answer_lines, facts_in_full

    run = call()
    answer = read_answer(out)
    assert answer is not None  # noqa: S101 - a replay writes it
    if json:
        frames = {} if run.differences is None else {"differences": run.differences.to_dicts()}
        parts = {**document(answer), **manifest_of(run), "summary": run.summary.to_dicts()}
        print_json({**parts, **frames})
        return
    load = run.workload
    print("\n".join(answer_lines(answer)))
    moves = {"file": str(out / "moves.parquet")}
    moved = (replace(one, about={**one.about, **moves}) for one in answer.of("moved"))
    print_lines(facts_in_full(moved))
    heads, rows = table_of(results(run))
    print_table(
        f"{load.name}: {counted(load.containers.count, 'container')},"
        f" {counted(load.nodes.count, 'node')}",
        heads,
        rows,
        note=f"{out / 'answer.json'} has all facts: tracekit report {out} --out report.html",
    )


def table_of(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of the table of policies and measures, production first.

    Policies with equal placements share a row. The last row is the lower bound, if there is one.
    """
    from tracekit.answer.intervals import COMPARED
    from tracekit.answer.run_facts import unit_of
    from tracekit.answer.standings import standings
    from tracekit.replay.runs.run import BOUND, OBSERVED
    from tracekit.report.sentences import amount

    names = [one for one in COMPARED if one in results.measures]
    stands = {name: standings(results, name) for name in names}
    units = {name: unit_of(results.measures[name]) for name in names}
    first = [row.names for row in stands[names[0]].rows] if names else []
    groups = sorted(
        [*first, *(one for one in results.groups if one not in first)],
        key=lambda one: OBSERVED not in one,
    )

    def cell(name: str, policy: str) -> str:
        row = stands[name].row(policy)
        return "-" if row is None else amount(row.mean, units[name])

    rows = [[", ".join(group), *(cell(name, group[0]) for name in names)] for group in groups]
    bound = results.summary.filter(policy=BOUND)
    if bound.height:
        proven = (amount(bound[name].item(), units[name]) or "-" for name in names)
        rows.append(["lower bound", *proven])
    return ["policy", *(results.measures[name].short or name for name in names)], rows
