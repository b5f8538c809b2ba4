"""What nodes cost, in a study of the fewest: as a sentence."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.fewest.found import COST, NODES
from tracekit.answer.fewest.frames import COST_BOUND, COST_KEPT, LIKE
from tracekit.replay.measures import COST_PER_HOUR

#: Why others may cost less, a clause.
NOT_CHEAPER = f": fewer nodes were searched for, not cheaper ones (--least {COST} does that)"
#: What a sum of prices is off by, in hundredths.
_ROUNDING = 1e-6


def kept(row: Mapping[str, Any], nodes: pl.DataFrame, about: Mapping[str, Any]) -> str:
    """What the nodes that stay cost of all, a sentence; empty where prices are not known.

    Parameters
    ----------
    row : mapping
        Of the policy in the study's frame.
    nodes : DataFrame
        Of the policy in the frame of nodes.
    about : mapping
        What was studied.
    """
    cost, bound = row.get(COST_KEPT), row.get(COST_BOUND)
    prices = of_all(nodes)
    if cost is None or prices is None:
        return ""
    there = float(prices.sum())
    said = f"Those that stay cost {cost:,.2f} per hour, of {there:,.2f} for all {row['of']:,}"
    if nodes[LIKE].count():
        all_, now = f"{cost:,.2f} per hour", f"{there:,.2f} for those there are"
        said = f"With those added nodes cost {all_}, beside {now}"
    used = (about["observed"] or {}).get("measures", {}).get(COST_PER_HOUR)
    if used is not None and about["scale"] == 1 and used < there - _ROUNDING:
        said = f"{said} ({used:,.2f} for those that production uses)"
    if about.get("least", NODES) != COST:
        return f"{said}{NOT_CHEAPER if unlike(nodes) and not nodes[LIKE].count() else ''}."
    proven = ""
    if bound is not None:
        least_of_all = _down(bound)
        than = "" if least_of_all >= round(cost, 2) else f" than {least_of_all:,.2f}"
        proven = f"; none can cost less{than} (proven)"
    return f"{said}, the least that was found{proven}."


def unlike(nodes: pl.DataFrame) -> bool:
    """Whether the nodes that are there have prices that differ."""
    there = of_all(nodes)
    return there is not None and there.n_unique() > 1


def of_all(nodes: pl.DataFrame) -> pl.Series | None:
    """The prices of the nodes that are there; None where that of one is not known."""
    if "price_per_hour" not in nodes.columns:
        return None
    there = nodes.filter(pl.col(LIKE).is_null())["price_per_hour"]
    return None if there.has_nulls() else there


def _down(value: float) -> float:
    """Rounded down to hundredths, as a bound is; what sums of floats are off by is none."""
    return float(np.floor(value * 100 + _ROUNDING) / 100)
