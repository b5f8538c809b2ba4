"""tracekit bind: replay placement down to the vCPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli._options import JsonOption, SeedOption
from tracekit.cli._output import print_json, print_sentence, print_table, progress

if TYPE_CHECKING:
    import polars as pl

    from tracekit.binding.run import VcpuRun


def command(
    store: Annotated[
        Path | None, typer.Argument(metavar="STORE", help="The store whose trace is replayed.")
    ] = None,
    fit: Annotated[Path, typer.Option(help="What tracekit fit --out wrote.")] = ...,  # type: ignore[assignment]
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|POLICY+BIND",
            help="interference, lowest_free, least_allocated, random_free, or any placement"
            " policy +lowest_free, +random_free, +least_interference; may be repeated.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write all there, as Parquet.")] = None,
    truth: Annotated[
        Path | None, typer.Option(help="Measure by a made-up trace's truth/binding.parquet.")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(metavar="NAME[:PATH]|PATH", help="Replay this instead of a store."),
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set an assumption; may be repeated."),
    ] = None,
    topology: Annotated[
        Path | None, typer.Option(help="How nodes are built; as for tracekit fit.")
    ] = None,
    sockets: Annotated[int, typer.Option(min=1, help="Sockets of a host.")] = 2,
    threads: Annotated[int, typer.Option(min=1, help="vCPUs of a core.")] = 2,
    fixed_use: Annotated[
        bool, typer.Option("--fixed-use", help="Use does not rise with interference.")
    ] = False,
    repeats: Annotated[int, typer.Option("--repeat", min=1, help="Orders of arrival.")] = 1,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Choose host, socket and vCPUs for every container, and say what neighbours cost.

    The first policy is compared with each of the others, with intervals
    where --repeat gives several orders of arrival.

    Example: tracekit bind mystore --fit fit --repeat 10 --out bound
    """
    import tracekit
    from tracekit.binding.folder import document
    from tracekit.binding.run import USUAL

    with progress() as shown:
        run = tracekit.bind(
            store,
            policy or USUAL,
            fit=fit,
            out=out,
            workload=workload,
            truth=truth,
            assume=assume or [],
            topology=topology,
            sockets=sockets,
            threads_per_core=threads,
            respond=not fixed_use,
            seed=seed,
            repeats=repeats,
            progress=shown,
        )
    if json:
        print_json(document(run))
        return
    _show(run)
    if out:
        print(f"all of it: {out}")


def _show(run: VcpuRun) -> None:
    rows = [
        [
            row["policy"],
            int(row["bound"]),
            round(row["inflation_vcpus"], 2),
            f"{100 * (row['inflation_mean_fraction'] or 0):.2f} %",
            round(row["cpu_spread_mean_fraction"], 4),
            int(row["nodes_used_max"]),
        ]
        for row in run.summary.to_dicts()
    ]
    label = "; a proxy fit: k1 is 0" if run.model.mode == "proxy" else ""
    print_table(
        f"{run.workload.name}: {run.workload.containers:,} containers",
        ["policy", "bound", "lost vCPUs", "mean", "cpu spread", "nodes"],
        rows,
        note=f"lost: predicted CPU that neighbours cost, mean over time{label}",
    )
    for sentence in sentences(run.differences):
        print_sentence(sentence)
    if run.model.unknown:
        print_sentence(f"{run.model.unknown} services are not in the fit; they have pooled values")


def sentences(differences: pl.DataFrame) -> list[str]:
    """What the comparison comes to, one sentence for each other policy."""
    said = []
    for row in differences.to_dicts():
        if row["measure"] != "inflation_vcpus":
            continue
        share = row["share_mean"]
        if share is None:
            continue
        more = "more" if share > 0 else "less"
        sure = (
            f"interval {row['difference_low']:.2f} to {row['difference_high']:.2f} vCPUs over"
            f" {row['repeats']} orders"
            if row["repeats"] > 1
            else "one order of arrival: --repeat gives intervals"
        )
        if row["repeats"] > 1 and not row["separated"]:
            sure += ", which does not tell them apart"
        said.append(
            f"{row['policy']} loses {100 * abs(share):.0f} % {more} than {row['against']} ({sure})"
        )
    return said
