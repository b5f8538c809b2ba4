"""Limits that hold on all nodes at the mean of the orders of arrival, and break in one of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tracekit.replay.runs.thresholds import Threshold, parse_threshold
from tracekit.replay.studies.shrink.search.limits import OPTION, Limits, written


def at_the_mean(limits: Limits, rows: Sequence[dict[str, Any]]) -> Limits | None:
    """The same limits; in an order where all nodes break one, fewer may break it as far.

    A policy may be chosen by the mean of the orders, so that a single one does not ask for more
    nodes. None where a limit breaks at the mean, too, or none breaks.

    Parameters
    ----------
    rows : sequence of dict
        What the policy comes to on all nodes, a row for each order.
    """
    held = [_held(one, rows) for one in limits.given]
    known = tuple(one for one in held if one is not None)
    if len(known) < len(held) or known == limits.given:
        return None
    return replace(limits, given=known)


def _held(limit: Threshold, rows: Sequence[dict[str, Any]]) -> Threshold | None:
    """The limit as it stands, or as far as all nodes are; None where it breaks at the mean."""
    most = limit.ceiling
    values = [row[limit.measure] for row in rows if row.get(limit.measure) is not None]
    if most is None or not values or max(values) <= most:
        return limit
    if sum(values) / len(values) > most:
        return None
    text = f"{limit.measure} <= max({written(most)}, base)"
    return parse_threshold(text, OPTION, typed=False)
