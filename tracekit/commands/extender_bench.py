"""tracekit extender-bench: the experiments of the Liang extender."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.base.progress import SILENT, Progress
from tracekit.commands._options import Seed, StudyFolder
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_claims, print_table, right
from tracekit.commands.shell.signature import Call, JsonOption
from tracekit.replay.studies import Decisions, ExtenderStudy, Orders

if TYPE_CHECKING:
    import polars as pl

    from tracekit.base.facts import Fact
    from tracekit.base.study import Study


def extender_bench(
    out: StudyFolder = None,
    *,
    orders: Orders = ExtenderStudy.orders,
    decisions: Decisions = ExtenderStudy.decisions,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Study:
    """The experiments of the extender; see ``tracekit.replay.studies.extender_study``."""
    from tracekit.commands._study import made
    from tracekit.replay.studies.extender_study import study_extender

    study = ExtenderStudy(orders=orders, decisions=decisions, seed=seed)
    return made(lambda _: study_extender(study, progress=progress), out)


PANEL = Panel.rare


def command(call: Call, out: Path | None, json: JsonOption = False) -> None:
    """The Liang extender: load of nodes, time of a decision.

    Nine containers come in many orders (figures 3-2 and 3-3); a decision is timed without the
    extender, with cached metrics and with metrics that are fetched each time (table 3-1).

    Example: tracekit extender-bench --out extender
    """
    from tracekit.commands._study import print_bench

    names = ("curves", "latency", "facts")
    print_bench(call(), "extender", "extender-bench", names, out, json=json, show=_show)


def _show(study: Study, facts: Sequence[Fact]) -> None:
    for (resource,), part in study.frames["curves"].group_by("resource", maintain_order=True):
        _show_curves(str(resource), part)
    print_table(
        "Time of a decision [ms]",
        ["mode", *right("decisions", "mean", "median", "95 % at most", "printed mean")],
        [list(row) for row in study.frames["latency"].iter_rows()],
        note="the printed times are of a cluster; here nothing goes over a network",
    )
    print_claims(facts)


def _show_curves(resource: str, part: pl.DataFrame) -> None:
    policies = part["policy"].unique(maintain_order=True).to_list()
    spread = part.pivot("policy", index="containers", values="spread_fraction")
    print_table(
        f"Most used node less the least used, by containers: {resource} [% of capacity]",
        ["containers", *right(*policies)],
        [[count, *(f"{100 * one:.1f}" for one in row)] for count, *row in spread.iter_rows()],
    )
