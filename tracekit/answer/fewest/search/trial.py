"""One replay on some of the nodes of a workload, and what it came to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.answer.fewest.search.broken_limit import Broken
from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.workload.workload import Workload


@dataclass(frozen=True)
class Trial:
    """One replay on so many nodes, in one order of arrival.

    Parameters
    ----------
    broken : Broken, optional
        The first limit that broke, if one did.
    room : mapping
        How far each limit is from breaking: see ``Limits.room``.
    stops : str
        What keeps containers waiting, where that is the limit that broke: see
        ``runs.room_left.in_their_way``. Empty where it is not known, as in other orders of arrival.
    at_mean : Broken, optional
        The limit that breaks at the mean of all orders on so many nodes, if one does; known only
        where no limit broke in any of them.
    """

    repeat: int
    nodes: int
    row: dict[str, Any]
    broken: Broken | None
    room: dict[str, float]
    stops: str = ""
    at_mean: Broken | None = None

    @property
    def fails(self) -> Broken | None:
        """The first limit that broke, in this order or at the mean of all."""
        return self.broken or self.at_mean


def mean_row(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Each measure at the mean of the orders, of those that are known in all."""
    named = [name for name, one in rows[0].items() if isinstance(one, int | float)]
    known = [name for name in named if all(row.get(name) is not None for row in rows)]
    return {name: sum(float(row[name]) for row in rows) / len(rows) for name in known}


def asked_over_time(load: Workload, node: IntArray) -> FloatArray:
    """What placed containers asked of each node over time, of its fullest resource, (nodes,).

    Daemons are not counted: they go with their node.

    Parameters
    ----------
    node : int64, shape (containers,)
        Where each container was placed last, -1 for never.
    """
    counted = node >= 0
    if load.daemon is not None:
        counted &= ~load.daemon
    who = np.flatnonzero(counted)
    end = int(load.times_ms[-1]) + load.step_ms
    there = np.minimum(load.departure_ms[who], end) - np.minimum(load.arrival_ms[who], end)
    asked = np.zeros(load.capacity.shape)
    np.add.at(asked, node[who], load.request[who] * there[:, None].astype(np.float64))
    span = max(end - int(load.times_ms[0]), 1)
    share = asked / np.maximum(load.capacity, 1) / span
    return np.asarray(share.max(axis=1))
