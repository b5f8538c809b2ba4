"""How sure the values are that a study of the fewest nodes promises: over its orders of arrival."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.replay.chance.student import FEWEST, means
from tracekit.replay.measures import FULLEST, find_measure, small
from tracekit.replay.runs.shown import shown
from tracekit.study import Study
from tracekit.words import counted


@dataclass(frozen=True, kw_only=True)
class OverOrders:
    """A measure on the nodes that are left: its mean over the orders, and the interval of that.

    Intervals are of 95 % and hold for all measures together.
    """

    mean: float
    low: float
    high: float
    orders: int


def over_orders(
    study: Study, policy: str, nodes: int | None, names: Sequence[str] = ()
) -> dict[str, OverOrders]:
    """By measure, what the orders come to on so many nodes; empty for fewer than an interval needs.

    A value that is the same in each order has an interval without width.

    Parameters
    ----------
    names : sequence of str
        The measures that are asked for; by default those that the study limits.
    """
    if nodes is None or "sizes" not in study.frames:
        return {}
    rows = study.frames["sizes"].filter(policy=policy, nodes=nodes)
    rows = rows.unique("repeat", keep="last").sort("repeat")
    told = [name for name in names or _measures(study) if name in rows.columns]
    known = [name for name in told if rows.height and not rows[name].has_nulls()]
    if rows.height < FEWEST or not known:
        return {}
    found = means(rows.select(pl.col(known).cast(pl.Float64)).to_numpy(), comparisons=len(known))
    ends = np.stack([found.mean, found.low, found.high], axis=1).tolist()
    return {
        name: OverOrders(mean=mean, low=low, high=high, orders=rows.height)
        for name, (mean, low, high) in zip(known, ends, strict=True)
    }


def _measures(study: Study) -> Sequence[str]:
    return list(dict.fromkeys([*FULLEST, *study.about["measures"]]))


def means_told(study: Study, policy: str, nodes: int | None) -> str:
    """The means with their intervals; empty where there are too few orders."""
    found = over_orders(study, policy, nodes)
    if not found:
        return ""
    said = []
    for name, one in found.items():
        measure = find_measure(name)
        if measure is not None:
            value = shown(measure, one.mean, one.high - one.mean, unit=True)
            said.append(f"{small(measure.title)} {value}")
    orders = next(iter(found.values())).orders
    return (
        f"Of {counted(orders, 'order')} of arrival the worst is shown; their means, with 95 %"
        " intervals that hold together for this policy alone (those of a run hold for all its"
        f" policies, and are wider): {', '.join(said)}."
    )
