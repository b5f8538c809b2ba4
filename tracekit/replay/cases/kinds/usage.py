"""Cases about usage of nodes in percent, as the descheduler sorts and classifies it."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.documents import shape as s
from tracekit.base.errors import TracekitError
from tracekit.policy.rebalance._thresholds import (
    by_usage,
    clamped,
    mean_percent,
    percent_of,
    shifted,
)
from tracekit.replay.cases.case import Answer, Question, kind
from tracekit.replay.cases.kinds import _shapes

ResourceMap = Mapping[str, Any]


def names_of(maps: Iterable[ResourceMap]) -> list[str]:
    """Every resource that a map speaks of, in order of appearance."""
    return list(dict.fromkeys(name for one in maps for name in one))


def rows_of(maps: Iterable[ResourceMap], names: Sequence[str]) -> FloatArray:
    """One row per map, one column per name, shape (maps, names)."""
    rows = [[one.get(name) for name in names] for one in maps]
    filled = [[np.nan if value is None else float(value) for value in row] for row in rows]
    return np.array(filled, dtype=np.float64).reshape(len(filled), len(names))


def map_of(row: FloatArray, names: Sequence[str]) -> dict[str, float]:
    """A row as a map of what is known."""
    return {
        name: float(value) for name, value in zip(names, row, strict=True) if not np.isnan(value)
    }


@dataclass(frozen=True, kw_only=True)
class NodePercent:
    """Percent per node and resource, NaN where a node has no usage or no total of one."""

    nodes: list[str]
    resources: list[str]
    percent: FloatArray

    def documents(self, chosen: BoolArray) -> dict[str, dict[str, float]]:
        """Percent of the chosen nodes as maps."""
        return {
            name: map_of(row, self.resources)
            for name, row, taken in zip(self.nodes, self.percent, chosen, strict=True)
            if taken
        }


def node_percent(inputs: Mapping[str, Any]) -> NodePercent:
    """From ``usage`` and ``totals``, each a resource map per node."""
    usage, totals = inputs["usage"], inputs["totals"]
    nodes = list(usage)
    resources = names_of([*usage.values(), *totals.values()])
    used = rows_of(usage.values(), resources)
    whole = rows_of([totals.get(node) or {} for node in nodes], resources)
    return NodePercent(nodes=nodes, resources=resources, percent=percent_of(used, whole))


def strictly_below(value: FloatArray, limit: FloatArray) -> BoolArray:
    """Nodes whose every resource lies a whole percent or more below its limit, shape (nodes,).

    The difference is cut to a whole number before it is compared; values unknown on either side are
    not compared. Swap the arguments to ask for a whole percent above.
    """
    whole = np.trunc(value - limit)
    return np.asarray(((whole < 0) | np.isnan(whole)).all(axis=-1))


@kind("usage in percent of capacity", {"usage": _shapes.NUMBERS, "capacity": _shapes.NUMBERS})
def usage_to_percent(question: Question) -> Answer:
    """Usage of a node in percent of its capacity.

    ``{"percent": {resource: percent}}`` of what is known on both sides.
    """
    usage, capacity = question.inputs["usage"], question.inputs["capacity"]
    names = names_of([usage])
    percent = percent_of(rows_of([usage], names), rows_of([capacity], names))
    return Answer(values={"percent": map_of(percent[0], names)})


@kind("usage in percent, clamped", _shapes.USAGE_OF_NODES)
def normalize_clamped(question: Question) -> Answer:
    """Usage in percent, kept within 0..100.

    ``{"percent": {node: {resource: percent}}}``.
    """
    found = node_percent(question.inputs)
    within = dataclasses.replace(found, percent=clamped(found.percent))
    return Answer(values={"percent": within.documents(np.ones(len(found.nodes), dtype=np.bool_))})


@kind("mean usage of nodes, clamped", _shapes.USAGE_OF_NODES)
def average_clamped(question: Question) -> Answer:
    """The mean usage over the nodes that report it.

    ``{"average": {resource: percent}}``, each node's percent clamped to 0..100 before.
    """
    found = node_percent(question.inputs)
    mean = mean_percent(clamped(found.percent))
    return Answer(values={"average": map_of(mean, found.resources)})


@kind(
    "values kept within a range",
    {
        "data": s.list_of(_shapes.NUMBERS),
        "minimum": _shapes.NUMBER,
        "maximum": _shapes.NUMBER,
    },
)
def clamp(question: Question) -> Answer:
    """Resource maps kept within a range.

    ``{"results": [{resource: value}, ...]}``.
    """
    inputs = question.inputs
    names = names_of(inputs["data"])
    rows = clamped(rows_of(inputs["data"], names), inputs["minimum"], inputs["maximum"])
    return Answer(values={"results": [map_of(row, names) for row in rows]})


@kind(
    "values with deviations added",
    {"data": _shapes.NUMBERS, "deviations": s.list_of(_shapes.NUMBERS)},
)
def sum_(question: Question) -> Answer:
    """A resource map with each of several deviations added.

    ``{"results": [{resource: value}, ...]}`` with the resources of the first operand.
    """
    data, deviations = question.inputs["data"], question.inputs["deviations"]
    names = names_of([data])
    start = rows_of([data], names)[0]
    added = [shifted(start, row) for row in rows_of(deviations, names)]
    return Answer(values={"results": [map_of(row, names) for row in added]})


@kind(
    "nodes in order of usage",
    {
        "nodes": s.list_of(s.record({"name": s.text, "usage": _shapes.NUMBERS})),
        "ascending": s.optional(s.flag),
    },
)
def sort_nodes(question: Question) -> Answer:
    """Nodes in order of their raw usage.

    ``{"order": [node, ...]}``, the most used first unless ``ascending``.
    """
    nodes = question.inputs["nodes"]
    usage = [node["usage"] for node in nodes]
    used = np.nan_to_num(rows_of(usage, names_of(usage)), nan=0.0)
    order = by_usage(used, ascending=bool(question.inputs.get("ascending")))
    return Answer(values={"order": [nodes[at]["name"] for at in order]})


@kind(
    "nodes off the mean",
    {**_shapes.USAGE_OF_NODES, "low": _shapes.NUMBERS, "high": _shapes.NUMBERS},
)
def deviation_classify(question: Question) -> Answer:
    """Nodes well below or well above the mean of all.

    ``{"under": {node: percent}, "over": {node: percent}}``, under first where both hold.
    """
    found = node_percent(question.inputs)
    mean = mean_percent(found.percent)
    low, high = (rows_of([question.inputs[key]], found.resources)[0] for key in ("low", "high"))
    under = strictly_below(found.percent, shifted(mean, -low))
    over = strictly_below(shifted(mean, high), found.percent) & ~under
    return Answer(values={"under": found.documents(under), "over": found.documents(over)})


@kind(
    "nodes by limits",
    {
        **_shapes.USAGE_OF_NODES,
        "classifiers": s.list_of(s.one_of("below", "above")),
        "limits": s.map_of(s.list_of(_shapes.NUMBERS)),
    },
)
def normalize_classify(question: Question) -> Answer:
    """Nodes by the first of several limits they meet.

    ``{"groups": [{node: percent}, ...]}``, one group per classifier, each node once at most.
    """
    found = node_percent(question.inputs)
    limits = question.inputs["limits"]
    left = np.ones(len(found.nodes), dtype=np.bool_)
    groups = []
    for at, classifier in enumerate(question.inputs["classifiers"]):
        bound = rows_of([limits[node][at] for node in found.nodes], found.resources)
        if classifier == "below":
            meets = strictly_below(found.percent, bound)
        elif classifier == "above":
            meets = strictly_below(bound, found.percent)
        else:
            raise TracekitError(f"classifier '{classifier}' must be 'below' or 'above'")
        groups.append(found.documents(meets & left))
        left &= ~meets
    return Answer(values={"groups": groups})
