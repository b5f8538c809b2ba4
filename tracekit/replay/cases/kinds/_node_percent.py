"""Usage of named nodes in percent of their totals, for the kinds that start from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.cases.kinds._resource_maps import map_of, names_of, rows_of
from tracekit.replay.rebalance._percent import percent_of


@dataclass(frozen=True, kw_only=True)
class NodePercent:
    """Percent per node and resource, NaN where a node has no usage or no total of one."""

    nodes: list[str]
    resources: list[str]
    percent: NDArray[np.float64]

    def documents(self, chosen: NDArray[np.bool_]) -> dict[str, dict[str, float]]:
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


def strictly_below(value: NDArray[np.float64], limit: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Nodes whose every resource lies a whole percent or more below its limit, shape (nodes,).

    The difference is cut to a whole number before it is compared; what is unknown on either side is
    not looked at. Swap the arguments to ask for a whole percent above.
    """
    whole = np.trunc(value - limit)
    return np.asarray(((whole < 0) | np.isnan(whole)).all(axis=-1))
