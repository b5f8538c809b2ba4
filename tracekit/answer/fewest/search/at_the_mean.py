"""Limits that hold on all nodes at the mean of the orders of arrival, and break in one of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tracekit.answer.fewest.search.limits import Limits
from tracekit.replay.runs.thresholds import Threshold


def at_the_mean(limits: Limits, rows: Sequence[dict[str, Any]]) -> Limits | None:
    """The same limits; those that break on all nodes in a single order then hold at the mean.

    A policy may be chosen by the mean of the orders, so a single order does not ask for more nodes.
    None where a limit breaks at the mean, too, or where none breaks.

    Parameters
    ----------
    rows : sequence of dict
        What the policy comes to on all nodes, a row for each order.
    """
    beyond = [one for one in limits.given if _highest(one, rows) > _most(one)]
    if not beyond or any(_mean(one, rows) > _most(one) for one in beyond):
        return None
    return replace(limits, at_mean=limits.at_mean | {one.text for one in beyond})


def _most(limit: Threshold) -> float:
    return float("inf") if limit.ceiling is None else limit.ceiling


def _highest(limit: Threshold, rows: Sequence[dict[str, Any]]) -> float:
    return max(_values(limit, rows), default=float("-inf"))


def _mean(limit: Threshold, rows: Sequence[dict[str, Any]]) -> float:
    values = _values(limit, rows)
    return sum(values) / len(values)


def _values(limit: Threshold, rows: Sequence[dict[str, Any]]) -> list[float]:
    return [row[limit.measure] for row in rows if row.get(limit.measure) is not None]
