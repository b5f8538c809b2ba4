"""How far apart CPU and memory use lie."""

import polars as pl

from tracekit.report.data import Data
from tracekit.report.figures.util_diff import WIDE
from tracekit.report.findings import Finding, Said
from tracekit.words import percent


def _find(data: Data) -> Said | None:
    profile = data.query("usage/node_profile")
    if profile.is_empty():
        return None
    wide = profile.filter(pl.col("util_diff") >= WIDE)
    highest = float(profile["util_diff"].max())  # type: ignore[arg-type]
    return Said(
        value=percent(wide.height / profile.height),
        sentence=f"of nodes ({wide.height:,} of {profile.height:,}) have CPU and memory use that"
        f" lie {100 * WIDE:.0f} points of capacity or more apart on average; the farthest"
        f" {100 * highest:.0f} points.",
        page="difference",
    )


FINDING = Finding(order=50, find=_find)
