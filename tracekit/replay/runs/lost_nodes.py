"""Nodes that are lost because that was asked, and what became of who lost a node or was evicted."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.cluster.workload import Workload

#: So many are named.
_NAMED = 5

Lost = Sequence[Mapping[str, Any]]


def lost_nodes(load: Workload) -> list[dict[str, Any]]:
    """The nodes that are lost by assumption, in the order of their times.

    Returns
    -------
    list of dict
        ``node``; ``after_ms``, since the beginning; ``drawn``: whether a number of nodes was asked
        for, and the seed chose this one.
    """
    if load.losses is None or load.losses.assumed is None:
        return []
    found, first, assumed = load.losses, int(load.times_ms[0]), load.losses.assumed
    drawn = assumed & False if found.drawn is None else found.drawn
    rows = zip(found.node.tolist(), found.time_ms.tolist(), drawn.tolist(), strict=True)
    return [
        {"node": load.node_ids[node], "after_ms": when - first, "drawn": by_seed}
        for (node, when, by_seed), asked in zip(rows, assumed.tolist(), strict=True)
        if asked
    ]


def _drawn(lost: Lost) -> list[str]:
    return [str(one["node"]) for one in lost if one["drawn"]]
