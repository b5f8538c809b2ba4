"""Fractions of a trace become amounts, in place and a step at a time: no matrix is copied.

At each step gaps are held, fractions become millicores and bytes, use of a node beyond its
containers becomes its background, and containers take their places in order of arrival.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.assembly.lives import Lives, Seen
from tracekit.cluster.assumptions import Assumptions
from tracekit.cluster.resources import DISK, NET
from tracekit.cluster.trace.tables import Trace
from tracekit.cluster.workload import Workload

if TYPE_CHECKING:
    from tracekit.store.folder import Store


class AmountConverter:
    """Converter of a trace's fractions into amounts; ``background`` may be called only once.

    Parameters
    ----------
    full : float64, shape (containers, 2)
        The millicores and bytes that a use of 1.0 stands for, in the order of the trace.

    Attributes
    ----------
    held : int
        Number of steps at which a container ran without a sample, over all containers.
    """

    def __init__(self, trace: Trace, seen: Seen, life: Lives, full: FloatArray) -> None:
        self._trace = trace
        self._seen = seen
        self._source = trace.column[life.order]
        self._due_from, self._due_until = life.due()
        # by column of the matrix
        self._full = np.ones((2, trace.fraction.shape[2]), dtype=np.float32)
        self._full[:, trace.column] = full.T
        self.held = 0

    def background(self, capacity: IntArray | None) -> Float32Array:
        """Convert the trace's fractions to amounts in place, and return the background of nodes.

        The columns of the trace's ``fraction`` are then in order of arrival. A value is NaN at a
        step at which the container cannot run in the replay.

        Parameters
        ----------
        capacity : int64, shape (nodes, 2), optional
            The amounts that a node's use of 1.0 stands for; None for no background.

        Returns
        -------
        float32, shape (2, steps, nodes)
            Background: ``max(0, node use - use of its containers)``; 0 where it was not measured.
        """
        trace = self._trace
        background = np.zeros(trace.node_fraction.shape, dtype=np.float32)
        last = [_first_known(fraction, trace) for fraction in trace.fraction]
        for step in range(len(trace.axis.times_ms)):
            present = np.flatnonzero((self._seen.start <= step) & (step <= self._seen.end))
            columns, nodes = trace.column[present], trace.at[present]
            gap = np.isnan(trace.fraction[0, step])
            self.held += int(gap[columns].sum()) if gap.any() else 0
            for resource, fraction in enumerate(trace.fraction):
                row = fraction[step]
                np.copyto(last[resource], row, where=~np.isnan(row))
                use = last[resource] * self._full[resource]
                if capacity is not None:
                    own = np.bincount(nodes, use[columns], len(trace.node_ids))
                    whole = trace.node_fraction[resource, step] * capacity[:, resource]
                    background[resource, step] = np.fmax(whole - own, 0.0)
                self._arrange(use, step, row)
        return background

    def _arrange(self, use: Float32Array, step: int, row: Float32Array) -> None:
        """Put the use of a step, by column, into order of arrival."""
        use.take(self._source, out=row)
        row[(step < self._due_from) | (self._due_until <= step)] = np.nan


def _first_known(fraction: Float32Array, trace: Trace) -> Float32Array:
    """The first value of each column, shape (containers,), which stands for earlier steps."""
    first = np.full(fraction.shape[1], np.nan, dtype=np.float32)
    first[trace.column] = fraction[trace.first_step, trace.column]
    for row in fraction if np.isnan(first).any() else ():
        np.copyto(first, row, where=np.isnan(first))
    return first


# HTTP_* and consumerMQ_* hold one series under two names each in the 2021 release: no rates.
_RATES = """
SELECT container, sum(value) / count(DISTINCT time_ms) AS calls_per_s
FROM service_rate
WHERE metric IN ('providerRPC_MCR', 'consumerRPC_MCR', 'providerMQ_MCR')
GROUP BY container
ORDER BY container
"""


def call_rates(store: Store) -> dict[str, float]:
    """Return the mean calls per second of each container, over all kinds of calls.

    The result is empty if the store has no call rates.
    """
    if not store.manifest.parts("service_rate"):
        return {}
    from tracekit.store.query.database import Database  # noqa: PLC0415 - duckdb is slow to import

    with Database(store) as database:
        rows = database.frame(_RATES).drop_nulls()
    return dict(rows.iter_rows())


def with_network_and_disk(
    load: Workload, assumptions: Assumptions, rates: Mapping[str, float]
) -> Workload:
    """Return the workload with requests of network and disk, and capacities of nodes for them.

    A container requests its mean call rate times ``kbit_per_call``, and a constant amount of disk.
    If no call rate is recorded, the network is left out. A resource that the workload already has
    stays as it is.
    """
    scale = load.nodes.capacity[:, 0] / (assumptions.node_cpu_cores * MILLI_PER_CORE)
    requested = {DISK: np.full(load.containers.count, float(assumptions.request_disk_bytes))}
    room = {DISK: assumptions.node_disk_bytes * scale}
    each_rate = [rates.get(name, 0.0) for name in load.containers.ids]
    if any(each_rate):
        requested[NET] = np.array(each_rate) * assumptions.kbit_per_call
        room[NET] = assumptions.node_net_kbit * scale
    requested = {name: amounts for name, amounts in requested.items() if name not in load.resources}
    if not requested:
        return load
    reserved = load.nodes.reserved
    if reserved is not None:
        reserved = np.pad(reserved, ((0, 0), (0, len(requested))))
    request = np.stack([_up(requested[name]) for name in requested], axis=1)
    return dataclasses.replace(
        load,
        resources=(*load.resources, *requested),
        nodes=dataclasses.replace(
            load.nodes,
            capacity=np.hstack(
                [load.nodes.capacity, np.stack([_up(room[name]) for name in requested], axis=1)]
            ),
            reserved=reserved,
        ),
        containers=dataclasses.replace(
            load.containers,
            request=np.hstack([load.containers.request, request]),
            nonzero_request=np.hstack([load.containers.nonzero_request, request]),
            limit=np.hstack([load.containers.limit, _up(request * assumptions.limit_factor)]),
        ),
        provenance=load.provenance.plus(
            facts={"containers_without_call_rate": each_rate.count(0.0)}
        ),
    )


def _up(amounts: NDArray[Any]) -> IntArray:
    return np.asarray(np.ceil(amounts), dtype=np.int64)
