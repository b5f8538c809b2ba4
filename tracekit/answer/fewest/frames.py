"""The frames of a study of the fewest nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.fewest.cluster import Cluster
from tracekit.answer.fewest.search.found import MIXED, Fewest, Option
from tracekit.answer.fewest.search.limits import Limits
from tracekit.answer.fewest.search.too_few import TooFewError
from tracekit.arrays import FloatArray, IntArray
from tracekit.errors import TracekitError
from tracekit.replay.measures import FULLEST, compared, find_measure
from tracekit.units import MILLI_PER_CORE

#: The column of nodes with the budgets that bar a drain, where there are budgets.
BARRED_BY = "barred_by"
#: The column of how many containers production runs on a node at the end, without daemons.
RUNNING = "running_containers"
#: The column of nodes that says which take nothing new already, where some do.
CORDONED = "cordoned"
#: The column of nodes with the name of the one that a further node is like; null for its own.
LIKE = "like_node"

#: The column of how many containers find no node with all nodes either; null where none waits.
WAITS_WITH_ALL = "waits_with_all"
#: The column of how a limit breaks with one node fewer: its value, and what it may be.
FAILS_HOW = "fails_how"
#: The columns of the measure whose limit breaks on all nodes and holds on fewer, and of its value.
BREAKS_WITH_ALL = ("breaks_with_all_measure", "breaks_with_all_value")
#: The columns of what keeps containers waiting with one node fewer, if that is known, and of how
#: many nodes rules on who shares one need alone.
STOPS, APART = "stops", "apart_nodes"
#: The column of how many further nodes are needed; these are among the nodes that are enough.
ADDED = "added_nodes"
#: The column of the measure whose limit breaks on all nodes there are, where some are added.
TOO_FEW = "too_few_measure"
#: How policies are put in order: who has an answer, who needs no further nodes, the fewest first.
BY_NODES = (pl.col("nodes").is_null(), pl.col(ADDED).fill_null(0) > 0, pl.col("nodes"))

_POLICIES = {
    "policy": pl.String,
    "nodes": pl.Int64,
    "of": pl.Int64,
    ADDED: pl.Int64,
    TOO_FEW: pl.String,
    "bound": pl.Int64,
    "nodes_low": pl.Int64,
    "nodes_high": pl.Int64,
    "going": pl.String,
    "tightest": pl.String,
    "tightest_room": pl.Float64,
    "fewer": pl.Int64,
    "fails": pl.String,
    "fails_measure": pl.String,
    "fails_value": pl.Float64,
    FAILS_HOW: pl.String,
    STOPS: pl.String,
    APART: pl.Int64,
    WAITS_WITH_ALL: pl.Int64,
    BREAKS_WITH_ALL[0]: pl.String,
    BREAKS_WITH_ALL[1]: pl.Float64,
    "problem": pl.String,
}
#: Where prices are known, per hour: what the nodes that are kept cost, and a bound below it.
COST_KEPT, COST_BOUND = "cost_kept_per_hour", "cost_bound_per_hour"
#: The frame of how many further nodes are enough, of one kind alone or mixed.
KINDS = "kinds"
_KINDS = {"policy": pl.String, LIKE: pl.String, "more": pl.Int64, "chosen": pl.Boolean}
_ORDERS = {"policy": pl.String, "repeat": pl.Int64, "nodes": pl.Int64}
_SIZES = {
    "policy": pl.String,
    "repeat": pl.Int64,
    "nodes": pl.Int64,
    "holds": pl.Boolean,
    "fails": pl.String,
}
_NODES = {
    "policy": pl.String,
    "node": pl.String,
    "place": pl.Int64,
    LIKE: pl.String,
    "requested_fraction": pl.Float64,
    "kept": pl.Boolean,
    "cpu_max_fraction": pl.Float64,
    "memory_max_fraction": pl.Float64,
}


def frames_of(
    found: Mapping[str, Fewest],
    problems: Mapping[str, TracekitError],
    limits: Limits,
    cluster: Cluster,
    *,
    by_cost: bool = False,
) -> dict[str, pl.DataFrame]:
    """All frames; ``tracekit.answer.fewest.study.shrink_cluster`` says what is in them.

    The policy of fewest nodes comes first, of those that need no further ones if there are any; or
    ``by_cost`` that of the cheapest.
    """
    orders = [
        {"policy": policy, "repeat": repeat, "nodes": nodes - one.left}
        for policy, one in found.items()
        for repeat, nodes in enumerate(one.by_order)
    ]
    return {
        "policies": _policies(found, problems, limits, cluster).sort(
            [COST_KEPT, "nodes"] if by_cost else BY_NODES,
            nulls_last=True,
            maintain_order=True,
        ),
        "orders": pl.DataFrame(orders, schema=_ORDERS),
        KINDS: pl.DataFrame(
            [
                {
                    "policy": policy,
                    LIKE: None if option.like == MIXED else cluster.node_ids[option.like],
                    "more": option.nodes,
                    "chosen": at == 0,
                }
                for policy, one in found.items()
                for at, option in enumerate([Option(one.kind, len(one.like)), *one.options])
                if len(one.like)
            ],
            schema=_KINDS,
        ),
        "sizes": _sizes(found),
        "nodes": _nodes(found, cluster),
    }


def _policies(
    found: Mapping[str, Fewest],
    problems: Mapping[str, TracekitError],
    limits: Limits,
    cluster: Cluster,
) -> pl.DataFrame:
    told = list(dict.fromkeys([*FULLEST, *limits.measures]))
    rows = [{**_policy(name, one, told), **_costs(one, cluster)} for name, one in found.items()]
    nodes = len(cluster.node_ids) - cluster.left
    rows += [
        {"policy": name, "of": nodes, "problem": error.what, **_broken(error)}
        for name, error in problems.items()
    ]
    prices = () if cluster.price_per_hour is None else (COST_KEPT, COST_BOUND)
    numbers = dict.fromkeys([*prices, *told], pl.Float64)
    return pl.DataFrame(rows, schema={**_POLICIES, **numbers})


def _broken(error: TracekitError) -> dict[str, Any]:
    """The limit that breaks on all nodes, if that is the problem."""
    broken = error.broken if isinstance(error, TooFewError) else None
    return {} if broken is None else {"fails_measure": broken.measure, "fails_value": broken.value}


def _broken_with_all(one: Fewest) -> dict[str, Any]:
    """The limit that breaks on all nodes and holds on these, if one does."""
    broken = one.broken_with_all
    values = () if broken is None else (broken.measure, broken.value)
    return dict(zip(BREAKS_WITH_ALL, values, strict=False))


def _policy(name: str, one: Fewest, told: list[str]) -> dict[str, Any]:
    held = one.at(one.nodes)
    fewer = next((trial for trial in one.at(one.nodes - 1) if trial.fails), None)
    broken = None if fewer is None else fewer.fails
    room = {
        limit: min(trial.room[limit] for trial in held if limit in trial.room)
        for limit in held[0].room
    }
    tightest = min(room, key=lambda limit: room[limit], default=None)
    return {
        "policy": name,
        "nodes": one.nodes - one.left,
        "of": len(one.place) - one.left - len(one.like),
        ADDED: len(one.like),
        TOO_FEW: one.too_few or None,
        "bound": None if one.bound is None else max(one.bound - one.left, 0),
        "nodes_low": min(one.by_order) - one.left,
        "nodes_high": max(one.by_order) - one.left,
        "going": one.going,
        "tightest": tightest,
        "tightest_room": None if tightest is None else room[tightest],
        "fewer": one.nodes - 1 - one.left,
        "fails": None if broken is None else broken.limit,
        "fails_measure": None if broken is None else broken.measure,
        "fails_value": None if broken is None else broken.value,
        FAILS_HOW: None if broken is None else broken.how_far,
        STOPS: next((trial.stops for trial in one.at(one.nodes - 1) if trial.stops), None),
        APART: one.apart,
        WAITS_WITH_ALL: one.waits_with_all,
        **_broken_with_all(one),
        **{measure: _worst(measure, [trial.row for trial in held]) for measure in told},
    }


def _costs(one: Fewest, cluster: Cluster) -> dict[str, float | None]:
    """What the nodes that are kept cost, and a bound below it; empty without prices.

    Nodes that are gone by the end are paid no more.
    """
    price = cluster.with_more(one.like).price_per_hour
    if price is None:
        return {}
    kept = price[one.place[one.left : one.nodes]]
    known = not np.isnan(kept).any()
    # what nodes that are gone carried is no longer paid for
    bound = one.cheapest if not one.left else None
    return {COST_KEPT: float(kept.sum()) if known else None, COST_BOUND: bound}


def _worst(measure: str, rows: list[dict[str, Any]]) -> float | None:
    """The value over orders of arrival that is farthest from the better end."""
    values = [float(row[measure]) for row in rows if row.get(measure) is not None]
    known = find_measure(measure)
    high = known is not None and known.better == "high"
    return (min if high else max)(values, default=None)


def _sizes(found: Mapping[str, Fewest]) -> pl.DataFrame:
    # in the order of the rows: a set has another in every process
    trials = (trial for one in found.values() for trial in one.trials)
    seen = dict.fromkeys(name for trial in trials for name in trial.row)
    measures = ["placed", *compared(seen)]
    rows = [
        {
            "policy": name,
            "repeat": trial.repeat,
            "nodes": trial.nodes - one.left,
            "holds": trial.fails is None,
            "fails": None if trial.fails is None else trial.fails.limit,
            **{measure: trial.row.get(measure) for measure in measures},
        }
        for name, one in found.items()
        for trial in one.trials
    ]
    return pl.DataFrame(rows, schema={**_SIZES, **dict.fromkeys(measures, pl.Float64)})


def _nodes(found: Mapping[str, Fewest], cluster: Cluster) -> pl.DataFrame:
    parts = [_nodes_of(policy, one, cluster) for policy, one in found.items()]
    return pl.concat(parts) if parts else pl.DataFrame(schema=_NODES)


def _nodes_of(policy: str, one: Fewest, cluster: Cluster) -> pl.DataFrame:
    """The nodes in the order in which they stay; the first in it are gone, and left out."""
    cluster = cluster.with_more(one.like)
    at = one.place[one.left :]
    cpu, memory = (pl.Series(peak[at], dtype=pl.Float64).fill_nan(None) for peak in one.peak)
    columns = {
        "policy": pl.repeat(policy, len(at), dtype=pl.String, eager=True),
        "node": [cluster.node_ids[place] for place in at.tolist()],
        "place": np.arange(1, len(at) + 1),
        LIKE: [cluster.like[place] for place in at.tolist()],
        "requested_fraction": one.put[at],
        "kept": np.arange(len(at)) < one.nodes - one.left,
        "cpu_max_fraction": cpu,
        "memory_max_fraction": memory,
    }
    frame = pl.DataFrame(columns, schema=_NODES).with_columns(
        *(pl.Series(name, values[at]) for name, values in _capacity(cluster).items())
    )
    if cluster.barred_by is not None:
        bars = pl.Series([cluster.barred_by[place] for place in at.tolist()], dtype=pl.String)
        frame = frame.with_columns(bars.replace("", None).alias(BARRED_BY))
    if cluster.cordoned is not None:
        frame = frame.with_columns(pl.Series(CORDONED, cluster.cordoned[at]))
    if cluster.running is not None:
        frame = frame.with_columns(pl.Series(RUNNING, cluster.running[at]))
    if cluster.price_per_hour is None:
        return frame
    price = pl.Series("price_per_hour", cluster.price_per_hour[at], dtype=pl.Float64)
    return frame.with_columns(price.fill_nan(None))


def _capacity(cluster: Cluster) -> dict[str, FloatArray | IntArray]:
    """What nodes have of each resource, by a name with its unit."""
    found: dict[str, FloatArray | IntArray] = {}
    for name, has in zip(cluster.resources, cluster.capacity.T, strict=True):
        cores = name == "cpu_milli"
        found["cpu_cores" if cores else name] = has / MILLI_PER_CORE if cores else has
    return found
