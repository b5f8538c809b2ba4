"""tracekit replay: put a workload through placement policies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracekit.cli._output import print_json, print_table, progress
from tracekit.units import percent


def command(
    store: Annotated[
        Path | None, typer.Argument(metavar="STORE", help="The store whose trace is replayed.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="all|NAME[param=value,...]", help="A policy; may be repeated."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="RUN", help="The run folder to write.")] = ...,  # type: ignore[assignment]
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")] = 0,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set an assumption; may be repeated."),
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Replay this folder of Parquet files instead."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Replay a workload under placement policies, beside production and a lower bound.

    Without --policy every policy is replayed with its defaults.

    Example: tracekit replay mystore --policy first_fit --policy least_allocated --out run
    """
    from tracekit.replay.command import run_replay
    from tracekit.replay.run_folder import manifest_of

    with progress() as shown:
        run = run_replay(
            store,
            policy or ["all"],
            out=out,
            seed=seed,
            assume=assume or [],
            workload=workload,
            progress=shown,
        )
    if as_json:
        print_json({**manifest_of(run), "summary": run.summary.to_dicts()})
        return
    load = run.workload
    print_table(
        f"{load.name}: {load.containers:,} containers, {load.nodes:,} nodes",
        ["policy", "pending", "Z", "cpu max", "mem max", "over", "nodes"],
        [_row(row) for row in run.summary.to_dicts()],
        note=f"from {load.settled_ms:,} ms on; Z: imbalance; over: overloaded node-steps\n{out}",
    )


def _row(row: dict[str, Any]) -> list[object]:
    return [
        row["policy"],
        row["pending"],
        row["imbalance_mean"],
        percent(row["cpu_max_fraction"]),
        percent(row["memory_max_fraction"]),
        row["overloaded_node_steps"],
        row["nodes_used_max"],
    ]
