"""The title of the figure of nodes against overload."""

from typing import Any

import polars as pl

from tracekit.report.trade_off import CHANCE, CHOSEN, FEW_ORDERS, FEWEST, PRODUCTION, RIVAL
from tracekit.words import count, percent
from tracekit.words import few as few_of

#: What is said of fewer nodes that are not beyond chance.
_UNSURE = {
    CHANCE: "; over all comparisons of the run, chance may explain that it uses fewer",
    FEW_ORDERS: "; it met too few orders of arrival to tell that from chance",
}


def takeaway(frame: pl.DataFrame) -> str:
    """What is given up for what, in a sentence or two, and what the means of nodes are of."""
    return f"{_traded(frame)} {frame['sparse'][0]}".strip()


def _traded(frame: pl.DataFrame) -> str:
    rows = frame.filter(pl.col("kind") != PRODUCTION)
    chosen = rows.filter(pl.col("kind") == CHOSEN)
    of = int(frame["of_nodes"][0])
    if not rows.is_empty() and frame["overload_share"].max() == 0:
        return f"{_by_nodes(rows, chosen, of)}{_nodes_of_production(frame)}"
    if chosen.height:
        return _beside(rows, chosen.row(0, named=True), of)
    if rows.is_empty():
        return "Production alone carries the whole load."
    usual = _production(frame, of)
    few = rows.sort("nodes", "overload_share").row(0, named=True)
    calm = rows.sort("overload_share", "nodes").row(0, named=True)
    if rows.height == 1:
        return (
            f"No policy can be recommended. {few['policy']} alone carries the whole load:"
            f" {_at(few, of)}.{usual}"
        )
    if few["policy"] == calm["policy"]:
        return (
            f"No policy can be recommended. The fewest nodes and the least overload are those of"
            f" {few['policy']}: {_at(few, of)}.{usual}"
        )
    return (
        f"No policy can be recommended. Fewest nodes: {few['policy']}, {_at(few, of)}. Least"
        f" overload: {calm['policy']}, {_at(calm, of)}{_equal(rows, calm)}.{usual}"
    )


def _by_nodes(rows: pl.DataFrame, chosen: pl.DataFrame, of: int) -> str:
    """Who uses how many nodes, where nobody overloads any: nothing is given up for them."""
    if chosen.is_empty():
        few = rows.sort("nodes").row(0, named=True)
        return (
            "No policy can be recommended, and none overloads a node. Fewest nodes:"
            f" {few['policy']}, {_nodes(few, of)}."
        )
    ours = chosen.row(0, named=True)
    said = f"No policy overloads a node: {ours['policy']} uses {_nodes(ours, of)}"
    fewest = rows.filter(pl.col("kind") == FEWEST)
    if fewest.is_empty():
        return f"{said}; no other way that is drawn uses fewer."
    best = fewest.row(0, named=True)
    return (
        f"{said}, {best['policy']} the fewest, {round(best['nodes']):,}"
        f"{_UNSURE.get(best['fewer'], '')}."
    )


def _nodes_of_production(frame: pl.DataFrame) -> str:
    """The nodes of production, a sentence; empty where it is not drawn."""
    rows = frame.filter(pl.col("kind") == PRODUCTION)
    return f" Production uses {round(rows['nodes'][0]):,}." if rows.height else ""


def _production(frame: pl.DataFrame, of: int) -> str:
    """What production comes to, a sentence; empty where it is not drawn."""
    rows = frame.filter(pl.col("kind") == PRODUCTION)
    return f" Production: {_at(rows.row(0, named=True), of)}." if rows.height else ""


def _equal(rows: pl.DataFrame, calm: dict[str, Any]) -> str:
    """A clause on those that overload as little; empty where nobody does."""
    alike = rows.filter(
        pl.col("overload_share") == calm["overload_share"], pl.col("policy") != calm["policy"]
    )
    names = alike["policy"].to_list()
    return f" (as little: {few_of(names)})" if names else ""


def _beside(rows: pl.DataFrame, chosen: dict[str, Any], of: int) -> str:
    """The policy that the first page names, beside the best that fewer nodes can do."""
    said = f"{chosen['policy']} uses {_at(chosen, of)}"
    fewer = rows.filter(pl.col("kind") == RIVAL)
    if fewer.is_empty():
        return f"{said}; no other way that is drawn uses fewer nodes."
    best = fewer.row(0, named=True)
    alike = round(best["nodes"]) == round(chosen["nodes"])
    theirs = (
        f"{best['policy']}: {_at(best, of, decimals=int(alike))}{_UNSURE.get(best['fewer'], '')}"
    )
    if best["overload_share"] > best["allowed_share"]:
        return (
            f"{said}. With fewer nodes every other way overloads more than is allowed on average,"
            f" least {theirs}."
        )
    return f"{said}. With fewer nodes none overloads less than {theirs}."


def _at(row: dict[str, Any], of: int, *, decimals: int = 0) -> str:
    nodes = _nodes(row, of, decimals=decimals)
    return f"{nodes}, {percent(row['overload_share'])} of node-steps overloaded"


def _nodes(row: dict[str, Any], of: int, *, decimals: int = 0) -> str:
    return f"{row['nodes']:,.{decimals}f} of {count(of, 'node')}"
