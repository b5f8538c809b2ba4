"""What the page on the fewest nodes says beside its figure."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.replay.measures import find_measure
from tracekit.report.cells import Table, table
from tracekit.report.data import Data
from tracekit.report.measures import text
from tracekit.report.words import count, listed

STUDY = "fewest_nodes"


def sentence(data: Data) -> str:
    """The answer: how many nodes, under which policy, of how many."""
    frame = data.result(f"{STUDY}/policies")
    found = frame.filter(pl.col("nodes").is_not_null())
    if found.is_empty():
        return "Under no policy do the limits hold, not even on all nodes."
    best = found.row(0, named=True)
    orders = data.studies[STUDY].about.get("repeats", 1)
    span = (
        f", between {best['nodes_low']:,} and {best['nodes_high']:,} over"
        f" {count(orders, 'order')} of arrival"
        if best["nodes_low"] != best["nodes_high"]
        else ""
    )
    bound = f"; no policy can do with fewer than {best['bound']:,}" if best["bound"] else ""
    return (
        f"{best['nodes']:,} of {count(best['of'], 'node')} are enough under"
        f" {best['policy']}{span}{bound}."
    )


def limits(data: Data) -> list[str]:
    """What had to hold, and for how much load."""
    about = data.studies[STUDY].about
    given = about.get("limits", [])
    said = [f"What had to hold: {listed(given)}." if given else "No node may ever be overloaded."]
    scale = about.get("scale", 1.0)
    if scale != 1:
        said.append(f"The load is {scale:g} times the recorded number of containers.")
    said += [
        f"{row['policy']}: {row['problem']}."
        for row in data.result(f"{STUDY}/policies").iter_rows(named=True)
        if row["problem"]
    ]
    return said


def policies(data: Data) -> Table:
    """Each policy: nodes, and what breaks with one fewer."""
    frame = data.result(f"{STUDY}/policies")
    rows = [_row(row) for row in frame.iter_rows(named=True)]
    schema = {
        "policy": pl.String,
        "nodes": pl.Int64,
        "fewest_over_orders": pl.Int64,
        "most_over_orders": pl.Int64,
        "lower_bound": pl.Int64,
        "nodes_that_can_go": pl.Int64,
        "with_one_node_fewer": pl.String,
        "which_go_first": pl.String,
    }
    return table(pl.DataFrame(rows, schema=schema), "Fewest nodes by policy")


def _row(row: dict[str, Any]) -> dict[str, Any]:
    measure = find_measure(row["fails_measure"] or "")
    value = text(measure, row["fails_value"]) if measure else row["fails_value"]
    fails = f"{row['fails']} does not hold ({value})" if row["fails"] else ""
    known = row["nodes"] is not None
    going = {"least_asked": "least asked of", "smallest": "smallest"}
    return {
        "policy": row["policy"],
        "nodes": row["nodes"],
        "fewest_over_orders": row["nodes_low"],
        "most_over_orders": row["nodes_high"],
        "lower_bound": row["bound"],
        "nodes_that_can_go": row["of"] - row["nodes"] if known else None,
        "with_one_node_fewer": row["problem"] or fails or "the lower bound is reached",
        "which_go_first": going.get(row["going"], row["going"] or "\u2013"),
    }


def removed(data: Data) -> Table:
    """The nodes that can go under the best policy, the first to go first."""
    frame = data.result(f"{STUDY}/policies")
    best = str(frame["policy"][0]) if frame.height else ""
    nodes = data.result(f"{STUDY}/nodes")
    if nodes.is_empty():
        return Table(caption="Nodes that can go", columns=[], rows=[])
    going = nodes.filter((pl.col("policy") == best) & ~pl.col("kept"))
    shown = going.sort("place", descending=True).select(
        "node", pl.col("requested_fraction").alias("requested_before_fraction")
    )
    return table(shown, f"{count(shown.height, 'node')} that can go under {best}")
