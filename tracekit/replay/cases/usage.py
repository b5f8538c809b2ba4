"""Cases about usage of nodes in percent: how the descheduler sorts and classifies nodes."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base import shape as s
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.policy.rebalance._utilization import (
    by_usage,
    mean_percent,
    percent_of,
)
from tracekit.policy.rebalance.node_utilization import shifted
from tracekit.replay.cases import _shapes, of_inputs

ResourceMap = Mapping[str, Any]
Values = dict[str, Any]


def names_of(maps: Iterable[ResourceMap]) -> list[str]:
    """Return every resource in the maps, in order of appearance."""
    return list(dict.fromkeys(name for one in maps for name in one))


def rows_of(maps: Iterable[ResourceMap], names: Sequence[str]) -> FloatArray:
    """Return a row for each map and a column for each name, (maps, names); NaN if missing."""
    rows = [[one.get(name) for name in names] for one in maps]
    filled = [[np.nan if value is None else float(value) for value in row] for row in rows]
    return np.array(filled, dtype=np.float64).reshape(len(filled), len(names))


def map_of(row: FloatArray, names: Sequence[str]) -> dict[str, float]:
    """Return a row as a map from name to value; names with NaN are left out."""
    return {
        name: float(value) for name, value in zip(names, row, strict=True) if not np.isnan(value)
    }


@dataclass(frozen=True, kw_only=True)
class NodePercent:
    """The usage of each node, in percent of the node's total of each resource.

    Parameters
    ----------
    percent : float64, shape (nodes, resources)
        NaN where a node has no usage or no total of the resource.
    """

    nodes: list[str]
    resources: list[str]
    percent: FloatArray

    def documents(self, chosen: BoolArray) -> dict[str, dict[str, float]]:
        """Return ``{node: {resource: percent}}`` of the nodes where ``chosen`` is true."""
        return {
            name: map_of(row, self.resources)
            for name, row, taken in zip(self.nodes, self.percent, chosen, strict=True)
            if taken
        }


def node_percent(usage: Mapping[str, ResourceMap], totals: Mapping[str, Any]) -> NodePercent:
    """Return usage in percent of ``totals``; both have amounts by resource for a node name."""
    nodes = list(usage)
    resources = names_of([*usage.values(), *totals.values()])
    used = rows_of(usage.values(), resources)
    whole = rows_of([totals.get(node) or {} for node in nodes], resources)
    return NodePercent(nodes=nodes, resources=resources, percent=percent_of(used, whole))


def strictly_below(value: FloatArray, limit: FloatArray) -> BoolArray:
    """Return which nodes are at least one percentage point below every limit, shape (nodes,).

    Both arrays hold percent by node and resource. The difference is truncated to a whole number,
    and ignored where it is NaN. With the arguments swapped, the result is which nodes are at least
    one point above every limit.
    """
    whole = np.trunc(value - limit)
    return np.asarray(((whole < 0) | np.isnan(whole)).all(axis=-1))


@of_inputs({"usage": _shapes.NUMBERS, "capacity": _shapes.NUMBERS})
def usage_to_percent(usage: ResourceMap, capacity: ResourceMap) -> Values:
    """Return the usage of a node in percent of its capacity.

    ``{"percent": {resource: percent}}`` of the resources with a usage and a capacity.
    """
    names = names_of([usage])
    percent = percent_of(rows_of([usage], names), rows_of([capacity], names))
    return {"percent": map_of(percent[0], names)}


@of_inputs(_shapes.USAGE_OF_NODES)
def normalize_clamped(**inputs: Any) -> Values:
    """Return usage in percent, within 0..100: ``{"percent": {node: {resource: percent}}}``."""
    used = node_percent(**inputs)
    within = dataclasses.replace(used, percent=np.clip(used.percent, 0.0, 100.0))
    return {"percent": within.documents(np.ones(len(used.nodes), dtype=np.bool_))}


@of_inputs(_shapes.USAGE_OF_NODES)
def average_clamped(**inputs: Any) -> Values:
    """Return the mean usage over the nodes that report it.

    ``{"average": {resource: percent}}``; the percent of each node is clamped to 0..100 first.
    """
    used = node_percent(**inputs)
    return {"average": map_of(mean_percent(np.clip(used.percent, 0.0, 100.0)), used.resources)}


@of_inputs(
    {"data": s.list_of(_shapes.NUMBERS), "minimum": _shapes.NUMBER, "maximum": _shapes.NUMBER}
)
def clamp(data: list[ResourceMap], minimum: float, maximum: float) -> Values:
    """Clip each value of resource maps: ``{"results": [{resource: value}, ...]}``."""
    names = names_of(data)
    rows = np.clip(rows_of(data, names), minimum, maximum)
    return {"results": [map_of(row, names) for row in rows]}


@of_inputs({"data": _shapes.NUMBERS, "deviations": s.list_of(_shapes.NUMBERS)})
def sum_(data: ResourceMap, deviations: list[ResourceMap]) -> Values:
    """Add each map of ``deviations`` to ``data``.

    ``{"results": [{resource: value}, ...]}`` with the resources of ``data``.
    """
    names = names_of([data])
    start = rows_of([data], names)[0]
    added = [shifted(start, row) for row in rows_of(deviations, names)]
    return {"results": [map_of(row, names) for row in added]}


@of_inputs(
    {
        "nodes": s.list_of(s.record({"name": s.text, "usage": _shapes.NUMBERS})),
        "ascending": s.optional(s.flag),
    }
)
def sort_nodes(nodes: list[Mapping[str, Any]], ascending: bool | None) -> Values:
    """Return the nodes in order of their usage, summed over resources without conversion of units.

    ``{"order": [node, ...]}``, the most used first unless ``ascending``.
    """
    usage = [node["usage"] for node in nodes]
    used = np.nan_to_num(rows_of(usage, names_of(usage)), nan=0.0)
    return {"order": [nodes[at]["name"] for at in by_usage(used, ascending=bool(ascending))]}


@of_inputs({**_shapes.USAGE_OF_NODES, "low": _shapes.NUMBERS, "high": _shapes.NUMBERS})
def deviation_classify(low: ResourceMap, high: ResourceMap, **inputs: Any) -> Values:
    """Return the nodes that are more than ``low`` below the mean, or more than ``high`` above it.

    ``{"under": nodes, "over": nodes}``, each as ``{node: {resource: percent}}``. The mean is over
    all nodes. A node must be beyond the limit of every resource, by one percentage point or more. A
    node that meets both conditions is only in ``under``.
    """
    used = node_percent(**inputs)
    mean = mean_percent(used.percent)
    below, above = rows_of([low, high], used.resources)
    under = strictly_below(used.percent, shifted(mean, -below))
    over = strictly_below(shifted(mean, above), used.percent) & ~under
    return {"under": used.documents(under), "over": used.documents(over)}


@of_inputs(
    {
        **_shapes.USAGE_OF_NODES,
        "classifiers": s.list_of(s.one_of("below", "above")),
        "limits": s.map_of(s.list_of(_shapes.NUMBERS)),
    }
)
def normalize_classify(
    classifiers: list[str], limits: Mapping[str, list[ResourceMap]], **inputs: Any
) -> Values:
    """Return the nodes in groups; a node is in the group of the first classifier that it meets.

    ``{"groups": [{node: {resource: percent}}, ...]}`` in the order of ``classifiers``, which are
    ``below`` or ``above``. ``limits`` has, for each node, one map of percents for each classifier.
    A node meets ``below`` if its use of every resource is below that map. It may be in no group.
    """
    used = node_percent(**inputs)
    left = np.ones(len(used.nodes), dtype=np.bool_)
    groups = []
    for at, classifier in enumerate(classifiers):
        bound = rows_of([limits[node][at] for node in used.nodes], used.resources)
        sides = (used.percent, bound) if classifier == "below" else (bound, used.percent)
        meets = strictly_below(*sides)
        groups.append(used.documents(meets & left))
        left &= ~meets
    return {"groups": groups}
