"""Which zone most nodes are in."""

from __future__ import annotations

import polars as pl

from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.report.words import count, percent
from tracekit.report.zones import min_samples

_MEANS = {
    "A": "move against each other (zone A)",
    "B": "are hardly related (zone B)",
    "C": "rise and fall together (zone C)",
}


def _find(data: Data) -> Said | None:
    zones = data.query("usage/zone_summary")
    if zones.is_empty():
        return None
    total = int(zones["nodes"].sum())
    known = zones.filter(pl.col("zone").is_in(list(_MEANS))).sort(
        ["nodes", "zone"], descending=[True, False]
    )
    if known.is_empty():
        return Said(
            value="0",
            sentence=f"of {count(total, 'node')} have the {min_samples()} changing samples that a"
            " zone needs; a longer part of the trace would tell.",
            page="zones",
        )
    row = known.row(0, named=True)
    others = int(known["nodes"].sum())
    unknown = (
        f"; for {count(total - others, 'more node')} it is not known" if total > others else ""
    )
    return Said(
        value=percent(row["nodes"] / others),
        sentence=f"of nodes ({row['nodes']:,} of {others:,}) have CPU and memory that"
        f" {_MEANS[row['zone']]}{unknown}.",
        page="zones",
    )


FINDING = Finding(order=40, find=_find)
