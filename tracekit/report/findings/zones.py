"""Which zone most nodes are in."""

import polars as pl

from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.report.words import NBSP, count, percent
from tracekit.report.zones import min_samples

#: A memory that moves by less, as a standard deviation over time, decides nothing.
_LITTLE = 0.01
_MEANS = {
    "A": "move against each other (correlation zone A)",
    "B": "are hardly related (correlation zone B)",
    "C": "rise and fall together (correlation zone C)",
}
#: Nodes without a zone, and why.
_WITHOUT = {
    "U": "CPU or memory never changed (correlation zone U)",
    "too_short": "there are too few samples",
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
            " correlation zone needs; a longer part of the trace would tell.",
            page="zones",
        )
    row = known.row(0, named=True)
    unknown = "".join(
        f"; on {count(nodes, 'further node')} {why}"
        for zone, why in _WITHOUT.items()
        if (nodes := int(zones.filter(pl.col("zone") == zone)["nodes"].sum()))
    )
    moves = row.get("memory_std")
    little = (
        f" Memory itself moves by {_points(moves)} only, so little hangs on it."
        if moves is not None and moves < _LITTLE
        else ""
    )
    return Said(
        value=percent(row["nodes"] / total),
        sentence=f"of nodes ({row['nodes']:,} of {total:,}) have CPU and memory that"
        f" {_MEANS[row['zone']]}{unknown}.{little}",
        page="zones",
    )


def _points(fraction: float) -> str:
    """A standard deviation of a share in percentage points."""
    return f"{100 * fraction:.1g}{NBSP}points"


FINDING = Finding(order=40, find=_find)
