"""How hot the hottest nodes get."""

import polars as pl

from tracekit.report.data import Data
from tracekit.report.figures.node_distribution import HOT
from tracekit.report.findings import Finding, Said
from tracekit.report.words import count, percent


def _find(data: Data) -> Said | None:
    profile = data.query("usage/node_profile")
    if profile.is_empty():
        return None
    hot = profile.filter(pl.col("cpu_max") >= HOT).height
    middle = float(profile["cpu_max"].median())  # type: ignore[arg-type]
    highest = float(profile["cpu_max"].max())  # type: ignore[arg-type]
    verb = "reaches" if hot == 1 else "reach"
    return Said(
        value=percent(highest),
        sentence="CPU is the highest recorded on any node, over the whole trace."
        f" {count(hot, 'node')} of {profile.height:,} {verb} {percent(HOT)} at least once; the"
        f" median node peaks at {percent(middle)}.",
        page="trace",
    )


FINDING = Finding(order=70, find=_find)
