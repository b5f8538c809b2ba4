"""tracekit replay: put a workload through placement policies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracekit.cli._options import EngineOption
from tracekit.cli._output import print_json, print_sentence, print_table, progress
from tracekit.units import percent

if TYPE_CHECKING:
    from tracekit.replay.measures import Measure


def command(
    store: Annotated[
        Path | None, typer.Argument(metavar="STORE", help="The store whose trace is replayed.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="all|common|NAME[param=value,...]",
            help="A policy, or POLICY+REBALANCER; may be repeated.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="RUN", help="The run folder to write.")] = ...,  # type: ignore[assignment]
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")] = 0,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set an assumption; may be repeated."),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:PATH]|PATH",
            help="Replay this instead of a store: paper000, openb:PATH, tianchi18:PATH, or a"
            " folder in tracekit's own schema.",
        ),
    ] = None,
    rebalance: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[...]", help="Replay each policy with this behind it too."),
    ] = None,
    gangs: Annotated[
        bool, typer.Option("--gang", help="Admit a service's containers all or none.")
    ] = False,
    repeats: Annotated[
        int,
        typer.Option("--repeat", "--seeds", min=1, help="Orders of arrival, each its own seed."),
    ] = 1,
    repeat_policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="common|NAME[...]",
            help="Only these meet all orders, the others one; may be repeated.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Policies to replay side by side.")] = 1,
    engine: EngineOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Replay a workload under placement policies, beside production and a lower bound.

    Without --policy every policy is replayed with its defaults. With --repeat 20 every policy
    meets 20 orders of arrival, and is called better only where an interval says so.
    The word common stands for the ten policies that are compared first.
    Any policy also takes near_weight=W: then nodes count W times more that keep calls between
    services on the node.
    Interrupted, the same command goes on with the policies that are not done yet.

    Example: tracekit replay mystore --policy first_fit --policy least_allocated --out run
    """
    import tracekit
    from tracekit.replay.measures import all_measures
    from tracekit.replay.runs.run_folder import manifest_of

    with progress() as shown:
        run = tracekit.replay(
            store,
            policy or ["all"],
            out=out,
            seed=seed,
            assume=assume or [],
            workload=workload,
            rebalance=rebalance or [],
            gangs=gangs,
            repeats=repeats,
            repeat_policies=repeat_policy or [],
            jobs=jobs,
            engine=engine,
            progress=shown,
        )
    if as_json:
        frames = {} if run.differences is None else {"differences": run.differences.to_dicts()}
        print_json({**manifest_of(run), "summary": run.summary.to_dicts(), **frames})
        return
    load = run.workload
    shown_measures = [one for one in all_measures().values() if one.short]
    heads = "; ".join(f"{one.short}: {one.title}" for one in shown_measures)
    print_table(
        f"{load.name}: {load.containers:,} containers, {load.nodes:,} nodes",
        ["policy", *(one.short for one in shown_measures)],
        [_row(row, shown_measures) for row in run.summary.to_dicts()],
        note=f"from {load.settled_ms:,} ms on; {heads}\n{out}",
    )
    for sentence in [*_left_out(run), *_moved(run), *_compared(run)]:
        print_sentence(sentence)


def _left_out(run: Any) -> list[str]:
    """What no policy can place."""
    from tracekit.replay.workload.feasible import too_large

    clause = too_large(run.workload)
    count = len(run.workload.too_large())
    return [f"{count:,} containers fit on no node, even an empty one: {clause}"] if clause else []


def _moved(run: Any) -> list[str]:
    """What rebalancers did."""
    from tracekit.units import duration

    return [
        f"{row['policy']}: {row['moves']:,} moves, {duration(row['move_downtime_ms']) or '0 s'} of"
        " service lost to them"
        for row in run.summary.to_dicts()
        if row["moves"]
    ]


def _compared(run: Any) -> list[str]:
    """Sentences on which policies differ over several orders of arrival."""
    from tracekit.replay.runs.compare import sentences

    if run.differences is None:
        return []
    ours = [str(policy) for policy in run.policies if "recorded" not in policy.reads]
    return sentences(run.repeats, run.differences, ours=ours)


def _row(row: dict[str, Any], shown: Sequence[Measure]) -> list[object]:
    values = ((one, row[one.name]) for one in shown)
    return [
        row["policy"],
        *(percent(value) if one.share and value is not None else value for one, value in values),
    ]
