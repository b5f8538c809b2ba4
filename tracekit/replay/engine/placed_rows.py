"""Rows of the containers that run, kept from one snapshot to the next.

Mostly containers are added behind those that run already; then only the new ones are copied. What a
policy was shown is never written again, and nothing is in reach of it that does not run yet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.arrays import IntArray
from tracekit.replay.view.snapshot import ServiceNames
from tracekit.replay.workload.workload import Workload


class Rows(NamedTuple):
    """One row for each container.

    Parameters
    ----------
    position : int64, shape (some,)
        In the workload.
    request, limit : int64, shape (some, resources)
    service : object, shape (some,)
    """

    position: IntArray
    request: IntArray
    limit: IntArray
    service: NDArray[np.object_]


class PlacedRows:
    """The rows of containers that run, one policy's or rebalancer's look after the other."""

    def __init__(self, load: Workload) -> None:
        self._load = load
        self._names = np.array(load.services, dtype=object)
        self._rows = self._empty(0)
        self._shown = 0

    def show(self, at: IntArray) -> tuple[IntArray, IntArray, ServiceNames]:
        """Requests, limits and services of containers in order of arrival.

        Parameters
        ----------
        at : int64, shape (some,)
            Their positions, ascending.
        """
        if not np.array_equal(self._rows.position[: self._shown], at[: self._shown]):
            self._rows, self._shown = self._empty(len(at)), 0
        elif len(at) > len(self._rows.position):
            before, self._rows = self._rows, self._empty(2 * len(at))
            for old, new in zip(before, self._rows, strict=True):
                new[: self._shown] = old[: self._shown]
        new, load = at[self._shown :], self._load
        parts = (new, load.request[new], load.limit[new], self._names[new])
        for column, part in zip(self._rows, parts, strict=True):
            column[self._shown : len(at)] = part
        self._shown = len(at)
        request, limit = self._rows.request[: len(at)], self._rows.limit[: len(at)]
        for amounts in (request, limit):
            amounts.flags.writeable = False
        return request, limit, ServiceNames(self._rows.service[: len(at)])

    def pick(self, at: IntArray) -> tuple[IntArray, IntArray, ServiceNames]:
        """The same of few containers, which is not kept."""
        load = self._load
        return load.request[at], load.limit[at], ServiceNames(self._names[at])

    def _empty(self, rows: int) -> Rows:
        shape = (rows, len(self._load.resources))
        return Rows(
            position=np.empty(rows, dtype=np.int64),
            request=np.empty(shape, dtype=np.int64),
            limit=np.empty(shape, dtype=np.int64),
            service=np.empty(rows, dtype=object),
        )
