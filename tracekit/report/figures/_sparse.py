"""Whether a mean over time is of hours in which hardly anything runs, and what the busiest needs.

The rule: for most of the time there is under a tenth of the most at any time. A mean over such a
time is far below what has to be there, and whoever sizes a cluster by it has too little.
"""

from collections.abc import Sequence

import polars as pl

from tracekit.replay.measures import words_of
from tracekit.report.data import Data
from tracekit.report.measures import ALLOCATED
from tracekit.report.policies import label
from tracekit.words import listed, percent

#: Under this part of the most there is hardly any load; such time is most of it beyond the other.
_HARDLY, _MOSTLY = 0.1, 0.5
_NODES = "nodes_used"


def of_nodes(data: Data, policies: Sequence[str]) -> str:
    """What to know of a mean number of nodes in use, a sentence; empty where load is steady."""
    most, part = _busiest(data, policies, _NODES)
    return _told("nodes are in use", part, [f"{at:,.0f} {_by(name)}" for name, at in most.items()])


def of_requests(data: Data, policies: Sequence[str], resource: str) -> str:
    """The same of how full nodes are on average of a resource."""
    most, part = _busiest(data, policies, f"{resource}_{ALLOCATED}")
    told = [f"{percent(at)} of all {_by(name)}" for name, at in most.items()]
    return _told(f"{words_of(resource)} is requested", part, told)


def _busiest(
    data: Data, policies: Sequence[str], column: str
) -> tuple[dict[str, float], float | None]:
    """The most under each policy, and for how much of the time hardly any runs under the first.

    None where that is not most of it.
    Averages are over the time once the cluster is filled, and so is this.
    """
    steps = data.replay("steps")
    if steps.is_empty() or not {column, "settled"} <= set(steps.columns):
        return {}, None
    settled = pl.col("settled") | ~pl.col("settled").any().over("policy")
    counted = steps.filter(settled, pl.col(column).is_not_null())
    known = {name: counted.filter(policy=name)[column].cast(pl.Float64) for name in policies}
    parts = {name: _quiet(values) for name, values in known.items() if len(values)}
    part = next(iter(parts.values()), 0.0)
    if part <= _MOSTLY:
        return {}, None
    return {name: float(known[name].max()) for name in parts}, part  # type: ignore[arg-type]


def _quiet(values: pl.Series) -> float:
    """For which part of the time there is hardly any of the most."""
    return float((values < _HARDLY * values.max()).mean() or 0.0)  # type: ignore[operator, arg-type]


def _by(policy: str) -> str:
    return f"under {label(policy)}"


def _told(what: str, part: float | None, most: Sequence[str]) -> str:
    if part is None:
        return ""
    return (
        f"Those are means over time; for {percent(part)} of it under a tenth of the {what} that the"
        f" busiest time needs: {listed(most)}."
    )
