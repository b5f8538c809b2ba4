"""tracekit estimate: the time of a computation over a store, here and on a cluster."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.commands._options import Engine, Store
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_sentence, print_table
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.store.query.plan import Plan


def estimate(store: Store, *, engine: Engine = None) -> Plan:
    """The time of one pass over a store, here and on an engine; see ``store.query.plan``."""
    from tracekit.store.folder import open_store
    from tracekit.store.query import plan as plans

    return plans.plan(open_store(store), engine)


PANEL = Panel.rare


def command(call: Call, store: Path, json: JsonOption = False) -> None:
    """Say how much there is, how fast one pass over it goes, and whether one machine does.

    Example: tracekit estimate mystore --engine spark://127.0.0.1:7077
    """
    plan = call()
    if json:
        print_json({"schema": "tracekit/plan/1", "store": str(store), **dataclasses.asdict(plan)})
        return
    print_table(
        f"Store {store}",
        ["table", "rows", "MB", "files", "partitions"],
        [[t.table, t.rows, round(t.bytes / 1e6, 1), t.files, t.partitions] for t in plan.tables],
    )
    if plan.engines:
        print_table(
            "One pass over all of it, measured on the largest file",
            ["engine", "cores", "start s", "rows/s", "pass s"],
            [
                [e.engine, e.cores, round(e.start_s, 2), round(e.rows_per_s), round(e.pass_s, 2)]
                for e in plan.engines
            ],
        )
    if plan.reach is not None:
        reach = plan.reach
        print_sentence(
            f"One pass over the network: {reach.bytes / 1e6:,.1f} MB in {reach.requests:,}"
            f" requests, {reach.transfer_s:,.1f} s at {reach.bytes_per_s / 1e6:,.1f} MB/s;"
            f" at list prices {reach.pass_usd:,.4f} USD a pass,"
            f" {reach.month_usd:,.4f} USD a month of storage"
        )
    print_sentence(plan.advice)
