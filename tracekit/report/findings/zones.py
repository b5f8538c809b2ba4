"""Which zone most nodes are in."""

import polars as pl

from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.report.zones import MOVES, largest, min_samples, sure_nodes
from tracekit.words import NBSP, count, percent

#: A memory that moves by less, as a standard deviation over time, decides nothing.
_LITTLE = 0.01
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
    most = largest(dict(zones.select("zone", "nodes").iter_rows()))
    if not most:
        return Said(
            value="0",
            sentence=f"of {count(total, 'node')} have the {min_samples()} changing samples that a"
            " correlation zone needs; a longer part of the trace would tell.",
            page="zones",
        )
    row = zones.row(by_predicate=pl.col("zone") == most[0], named=True)
    also = "".join(f"; as many have CPU and memory that {MOVES[zone]}" for zone in most[1:])
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
        f" {MOVES[row['zone']]}{also}{unknown}.{_sure(data)}{little}",
        page="zones",
    )


def _sure(data: Data) -> str:
    """For how many nodes the zone is sure, a sentence; empty where it is for all, or unknown."""
    sure, nodes = sure_nodes(data)
    if sure == nodes:
        return ""
    return (
        f" The zone is beyond reasonable doubt for {percent(sure / nodes)} of"
        f" {count(nodes, 'node')}; others may be in another one."
    )


def _points(fraction: float) -> str:
    """A standard deviation of a share in percentage points."""
    return f"{100 * fraction:.1g}{NBSP}points"


FINDING = Finding(order=40, find=_find)
