"""The frames of a study of the fewest nodes, and its entries on workload and production."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.counts import JOINT
from tracekit.answer.fewest.cluster import Cluster, left_nodes
from tracekit.answer.fewest.limits import CPU, MEMORY, Limits, Margin
from tracekit.answer.fewest.outcome import Outcome, TooFewError
from tracekit.answer.fewest.trials import KEPT, frame_of, nearest
from tracekit.answer.production import production_use
from tracekit.answer.repeat import LARGEST
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.on_nodes import recorded_over_capacity
from tracekit.cluster.parts import zone_counts
from tracekit.cluster.series import settled_steps
from tracekit.cluster.source import WorkloadSource
from tracekit.cluster.workload import Workload
from tracekit.replay.chance import FEWEST
from tracekit.replay.measures import FULLEST, compared, find_measure
from tracekit.replay.runs.one import shares, varying
from tracekit.replay.runs.remarks import span_ms

#: The column of the disruption budgets that bar a node's drain.
BARRED_BY = "barred_by"
#: The column of the number of containers that production runs on a node at the end.
RUNNING = "running_containers"
#: The column of cordoned nodes.
CORDONED = "cordoned"
#: The column of the node that an added node copies; null for the cluster's own nodes.
LIKE = "like_node"
#: The column of the reason of a special node; null for other nodes.
SPECIAL = "special"
#: The column of the number of containers that get no node on all nodes; null for none.
WAITS_WITH_ALL = "waits_with_all"
#: The column of the number of added nodes among the nodes that are enough.
ADDED = "added_nodes"
#: Sorts policies: those with a result first, then those without added nodes, then by nodes.
BY_NODES = (pl.col("nodes").is_null(), pl.col(ADDED).fill_null(0) > 0, pl.col("nodes"))

#: The columns of a limit and of a replay's value.
_MARGIN = {
    "": pl.String,
    "_measure": pl.String,
    "_value": pl.Float64,
    "_allowed": pl.Float64,
    "_room": pl.Float64,
    "_lost_zone": pl.String,
}


def _margins(name: str) -> dict[str, Any]:
    return {f"{name}{end}": kind for end, kind in _MARGIN.items()}


_POLICIES = {
    "policy": pl.String,
    "nodes": pl.Int64,
    "of": pl.Int64,
    ADDED: pl.Int64,
    "bound": pl.Int64,
    "nodes_low": pl.Int64,
    "nodes_high": pl.Int64,
    "joint_apart": pl.Boolean,
    "going": pl.String,
    **_margins("tightest"),
    "fewer": pl.Int64,
    **_margins("fails"),
    "fullest_node": pl.String,
    "special_nodes": pl.Int64,
    "restarted": pl.Int64,
    WAITS_WITH_ALL: pl.Int64,
    **_margins("breaks"),
    "problem": pl.String,
}
#: Where prices are known, cost per hour: of nodes that stay, of all nodes, and a lower bound.
COST_KEPT, COST_ALL = "cost_kept_per_hour", "cost_all_per_hour"
COST_BOUND = "cost_bound_per_hour"
_ORDERS = {"policy": pl.String, "repeat": pl.Int64, "nodes": pl.Int64}
_SIZES = {
    "policy": pl.String,
    "repeat": pl.Int64,
    "nodes": pl.Int64,
    "holds": pl.Boolean,
    "fails": pl.String,
    **_margins("tightest"),
}
_NODES = {
    "policy": pl.String,
    "node": pl.String,
    "place": pl.Int64,
    LIKE: pl.String,
    SPECIAL: pl.String,
    "requested_fraction": pl.Float64,
    "kept": pl.Boolean,
    "cpu_p99_over_time_fraction": pl.Float64,
    "cpu_max_fraction": pl.Float64,
    "memory_max_fraction": pl.Float64,
}


def frames_of(
    outcomes: Mapping[str, Outcome],
    problems: Mapping[str, TracekitError],
    measures: Sequence[str],
    cluster: Cluster,
    *,
    by_cost: bool = False,
) -> dict[str, pl.DataFrame]:
    """Return the frames of a study of the fewest nodes; ``study.shrink_cluster`` describes them.

    Policies are sorted by the number of nodes, or with ``by_cost`` by the cost of the nodes that
    stay.

    Parameters
    ----------
    outcomes, problems : mapping
        By policy: the result of its search, or the error for which it has none.
    measures : sequence of str
        The measures that get columns.
    """
    orders = [
        {"policy": policy, "repeat": repeat, "nodes": nodes - one.gone_by_end}
        for policy, one in outcomes.items()
        for repeat, nodes in enumerate(one.by_order)
    ]
    zones = [frame_of(KEPT, policy, one.zones) for policy, one in outcomes.items() if one.zones]
    return {
        "policies": _policies(outcomes, problems, measures, cluster).sort(
            [COST_KEPT, "nodes"] if by_cost else BY_NODES,
            nulls_last=True,
            maintain_order=True,
        ),
        "orders": pl.DataFrame(orders, schema=_ORDERS),
        "sizes": _sizes(outcomes, cluster),
        "nodes": _nodes(outcomes, cluster),
        **({"zones": pl.concat(zones)} if zones else {}),
    }


def _policies(
    outcomes: Mapping[str, Outcome],
    problems: Mapping[str, TracekitError],
    measures: Sequence[str],
    cluster: Cluster,
) -> pl.DataFrame:
    shown = list(dict.fromkeys([*FULLEST, CPU, *measures]))
    rows = [
        {**_policy(name, one, shown, cluster), **_costs(one, cluster)}
        for name, one in outcomes.items()
    ]
    nodes = len(cluster.node_ids) - cluster.left
    rows += [
        {"policy": name, "of": nodes, "problem": error.what, **_broken(error)}
        for name, error in problems.items()
    ]
    prices = () if cluster.price_per_hour is None else (COST_KEPT, COST_ALL, COST_BOUND)
    numbers = dict.fromkeys([*prices, *shown], pl.Float64)
    return pl.DataFrame(rows, schema={**_POLICIES, **numbers})


def _broken(error: TracekitError) -> dict[str, Any]:
    """The columns of the limit that breaks on all nodes; empty for another error."""
    return _columns("breaks", error.margin if isinstance(error, TooFewError) else None)


def _columns(name: str, margin: Margin | None) -> dict[str, Any]:
    """The columns of a limit, each named ``name`` and an end; empty for no limit."""
    if margin is None:
        return {}
    limit = margin.limit.text, margin.measure
    values = (*limit, margin.value, margin.allowed, margin.room, margin.lost or None)
    return {f"{name}{end}": value for end, value in zip(_MARGIN, values, strict=True)}


def _policy(name: str, one: Outcome, shown: Sequence[str], cluster: Cluster) -> dict[str, Any]:
    fewer = one.fewer[-1].broken[0] if one.fewer and one.fewer[-1].broken else None
    those = cluster.with_more(one.like)
    gone = np.setdiff1d(np.arange(len(cluster.node_ids)), one.place[: one.nodes])
    return {
        "policy": name,
        "nodes": one.nodes - one.gone_by_end,
        "of": len(cluster.node_ids) - one.gone_by_end,
        ADDED: len(one.like),
        "bound": None if one.bound is None else max(one.bound - one.gone_by_end, 0),
        "nodes_low": min(one.by_order) - one.gone_by_end,
        "nodes_high": max(one.by_order) - one.gone_by_end,
        "joint_apart": one.nodes - one.gone_by_end > JOINT * (max(one.by_order) - one.gone_by_end),
        "going": one.ordering,
        **_columns("tightest", nearest(one.held)),
        "fewer": one.nodes - 1 - one.gone_by_end,
        **_columns("fails", fewer),
        "fullest_node": those.node_ids[int(np.nanargmax(one.fullest[0]))],
        "special_nodes": len(cluster.special),
        "restarted": None if cluster.running is None else int(cluster.running[gone].sum()),
        WAITS_WITH_ALL: one.waits_with_all,
        **_columns("breaks", one.breaks),
        **{measure: _worst(measure, [trial.row for trial in one.held]) for measure in shown},
    }


def _costs(one: Outcome, cluster: Cluster) -> dict[str, float | None]:
    """The cost of the nodes that stay, of all nodes, and a lower bound; empty without prices.

    Nodes that are gone by the end cost nothing.
    """
    price = cluster.with_more(one.like).price_per_hour
    if price is None:
        return {}
    # the bound counts the load of nodes that are gone, too
    bound = one.cheapest if not one.gone_by_end else None
    going = one.place[one.gone_by_end :]
    every = going[going < len(cluster.node_ids)]
    return {COST_KEPT: _sum(price[one.staying]), COST_ALL: _sum(price[every]), COST_BOUND: bound}


def _sum(prices: FloatArray) -> float | None:
    """The sum; None where a price is unknown."""
    return None if np.isnan(prices).any() else float(prices.sum())


def _worst(measure: str, rows: list[dict[str, Any]]) -> float | None:
    """The worst value of a measure over the orders of arrival; None where none has it."""
    values = [float(row[measure]) for row in rows if row.get(measure) is not None]
    declared = find_measure(measure)
    high = declared is not None and declared.better == "high"
    return (min if high else max)(values, default=None)


def _sizes(outcomes: Mapping[str, Outcome], cluster: Cluster) -> pl.DataFrame:
    # a set would have another order in every process
    trials = (trial for one in outcomes.values() for trial in one.seen)
    seen = dict.fromkeys(name for trial in trials for name in trial.row)
    measures = ["placed", *compared(seen)]
    rows = [
        {
            "policy": name,
            "repeat": trial.repeat,
            "nodes": trial.nodes - one.gone_by_end,
            "holds": not trial.broken,
            "fails": trial.broken[0].limit.text if trial.broken else None,
            **_columns("tightest", trial.tightest),
            COST_KEPT: _cost_at(one, trial.nodes, cluster),
            **{measure: trial.row.get(measure) for measure in measures},
        }
        for name, one in outcomes.items()
        for trial in one.seen
    ]
    return pl.DataFrame(
        rows, schema={**_SIZES, **dict.fromkeys([COST_KEPT, *measures], pl.Float64)}
    )


def _cost_at(one: Outcome, nodes: int, cluster: Cluster) -> float | None:
    """The cost of the first ``nodes`` nodes in the order; None where a price is unknown."""
    price = cluster.price_per_hour
    place = one.place[one.gone_by_end : nodes]
    priced = price is not None and (place < len(cluster.node_ids)).all()
    return _sum(price[place]) if priced and price is not None else None


def _nodes(outcomes: Mapping[str, Outcome], cluster: Cluster) -> pl.DataFrame:
    parts = [_nodes_of(policy, one, cluster) for policy, one in outcomes.items()]
    return pl.concat(parts) if parts else pl.DataFrame(schema=_NODES)


def _nodes_of(policy: str, one: Outcome, cluster: Cluster) -> pl.DataFrame:
    """The nodes in their order, without those that are gone by the end."""
    cluster = cluster.with_more(one.like)
    at = one.place[one.gone_by_end :]
    p99, cpu, memory = (
        pl.Series(peak[at], dtype=pl.Float64).fill_nan(None) for peak in one.fullest
    )
    columns = {
        "policy": pl.repeat(policy, len(at), dtype=pl.String, eager=True),
        "node": [cluster.node_ids[place] for place in at.tolist()],
        "place": np.arange(1, len(at) + 1),
        LIKE: [cluster.like[place] for place in at.tolist()],
        SPECIAL: [cluster.special.get(place) for place in at.tolist()],
        "requested_fraction": one.requested[at],
        "kept": np.arange(len(at)) < one.nodes - one.gone_by_end,
        CPU: p99,
        "cpu_max_fraction": cpu,
        MEMORY: memory,
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
    """The capacity of each node by resource, under a name with its unit."""
    columns: dict[str, FloatArray | IntArray] = {}
    for name, has in zip(cluster.resources, cluster.capacity.T, strict=True):
        cores = name == "cpu_milli"
        columns["cpu_cores" if cores else name] = has / MILLI_PER_CORE if cores else has
    return columns


#: Counts of nodes and containers that a count of nodes leaves out.
_COUNTS = (
    "nodes_set_aside",
    "nodes_without_own_use",
    "containers_left_waiting",
    "containers_left_waiting_too_large",
)
#: The entry for containers that production ran on nodes without room for their requests.
OVER_CAPACITY = "containers_recorded_over_capacity"


def facts_of(load: Workload, given: Workload) -> dict[str, Any]:
    """Return entries of a study about its workload: counts, assumptions, and production's use.

    Parameters
    ----------
    load : Workload
        The workload of the study.
    given : Workload
        The recorded workload; ``load`` may have several copies of its containers.
    """
    return {
        "name": load.name,
        "nodes": load.nodes.count - len(left_nodes(load)),
        "nodes_with_left": load.nodes.count,
        **{name: load.provenance.facts.get(name, 0) for name in _COUNTS},
        "containers": load.containers.count,
        "containers_recorded": given.containers.count,
        OVER_CAPACITY: recorded_over_capacity(given),
        "steps": len(load.use.times_ms),
        "settled_steps": len(settled_steps(load.use.times_ms, load.use.settled_ms)),
        "span_ms": span_ms(load),
        "varying": varying(load),
        **zone_counts(load.nodes.domains),
        "assumptions": dict(load.provenance.assumptions),
        "quantities": dict(load.provenance.quantities),
        "background": shares(load)["background"],
        "currency": load.nodes.currency,
        "production": dataclasses.asdict(production_use(given)),
    }


def given_again(source: WorkloadSource, called: str | None) -> dict[str, Any]:
    """Return what a command needs to read the same workload again: store, loader and assumptions.

    Parameters
    ----------
    called : str, optional
        The store's name in commands; by default its path.
    """
    store = source.store
    return {
        "store": "" if store is None else called or str(store.path),
        "loader": source.workload or "",
        "assume": list(source.assume),
        "gangs": source.gangs,
        "made_up": store is not None and store.manifest.made_up,
    }


def of_production(observed: dict[str, Any] | None, limits: Limits) -> dict[str, Any]:
    """Return production's measures and the limits it breaks; empty without a recorded placement."""
    if observed is None:
        return {}
    every = (*limits.ceiling, *limits.given)
    plain = [one for one in every if one.policy is None and not one.speaks_of("base")]
    broken = [one.text for one in plain if not one.met(observed, observed, observed)]
    measures = {name: observed[name] for name in compared(observed)}
    return {"nodes": observed["nodes_used_max"], "breaks": broken, "measures": measures}


def orders_of(facts: Mapping[str, Any], repeats: int | None) -> int:
    """Return ``repeats``; by default six, or one if all orders are alike or the load is large."""
    if repeats is not None:
        return repeats
    large = facts["containers"] * facts["nodes"] > LARGEST
    return FEWEST if facts["varying"] and not large else 1
