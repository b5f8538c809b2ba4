"""How much of the nodes is in use, and how much lies idle."""

import polars as pl

from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.report.words import not_recorded
from tracekit.words import count, percent


def _find(data: Data) -> Said | None:
    profile = data.query("usage/node_profile")
    if profile.is_empty():
        return None
    means = profile.select(pl.col("cpu_mean", "memory_mean", "debris").mean())
    cpu, memory, idle = means.row(0)
    said = (
        f"of the average node lies idle, of {count(profile.height, 'node')}, large or small, as"
        f" the mean of CPU and memory: it uses {percent(cpu)} of its CPU and {percent(memory)} of"
        " its memory."
    )
    tables = (data.info or {"tables": {}})["tables"]
    nodes = max((one.get("nodes", 0) for one in tables.values()), default=0)
    return Said(
        value=percent(idle),
        sentence=f"{said} {not_recorded(max(nodes - profile.height, 0))}".strip(),
        page="zones",
    )


FINDING = Finding(order=30, find=_find)
