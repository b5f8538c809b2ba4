"""How much of the nodes is in use, and how much lies idle."""

import polars as pl

from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.report.words import count, percent


def _find(data: Data) -> Said | None:
    profile = data.query("usage/node_profile")
    if profile.is_empty():
        return None
    means = profile.select(pl.col("cpu_mean", "memory_mean", "debris").mean())
    cpu, memory, idle = means.row(0)
    return Said(
        value=percent(idle),
        sentence=f"of the capacity of {count(profile.height, 'node')} lies idle on average:"
        f" they use {percent(cpu)} of their CPU and {percent(memory)} of their memory.",
        page="zones",
    )


FINDING = Finding(order=30, find=_find)
