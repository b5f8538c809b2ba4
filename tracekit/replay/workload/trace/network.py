"""Network and disk of a trace that measures neither: modelled from call rates and a constant."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracekit.arrays import IntArray
from tracekit.replay.workload.assumptions import Assumptions
from tracekit.replay.workload.resources import DISK, NET
from tracekit.replay.workload.workload import Workload
from tracekit.units import MILLI_PER_CORE

if TYPE_CHECKING:
    from tracekit.store import Store


# HTTP_* and consumerMQ_* hold one series under two names each in the 2021 release: no rates.
_RATES = """
SELECT container, sum(value) / count(DISTINCT time_ms) AS calls_per_s
FROM service_rate
WHERE metric IN ('providerRPC_MCR', 'consumerRPC_MCR', 'providerMQ_MCR')
GROUP BY container
ORDER BY container
"""


def call_rates(store: Store) -> dict[str, float]:
    """Calls per second of each container, over all kinds, on average over its samples.

    Empty where the store has no call rates.
    """
    if not store.manifest.parts("service_rate"):
        return {}
    from tracekit.query.database import Database  # noqa: PLC0415 - duckdb is slow to import

    with Database(store) as database:
        rows = database.frame(_RATES).drop_nulls()
    return dict(rows.iter_rows())


def with_network_and_disk(
    load: Workload, assumptions: Assumptions, rates: Mapping[str, float]
) -> Workload:
    """The workload with requests of network and disk, and capacities of nodes for them.

    A container asks for its mean call rate times ``kbit_per_call`` and for a constant of disk.
    Without any rate the network is left out: a resource without data decides nothing. What is
    recorded is not modelled.
    """
    scale = load.capacity[:, 0] / (assumptions.node_cpu_cores * MILLI_PER_CORE)
    asked = {DISK: np.full(load.containers, float(assumptions.request_disk_bytes))}
    room = {DISK: assumptions.node_disk_bytes * scale}
    known = [rates.get(name, 0.0) for name in load.container_ids]
    if any(known):
        asked[NET] = np.array(known) * assumptions.kbit_per_call
        room[NET] = assumptions.node_net_kbit * scale
    asked = {name: amounts for name, amounts in asked.items() if name not in load.resources}
    if not asked:
        return load
    reserved = load.reserved
    if reserved is not None:
        reserved = np.pad(reserved, ((0, 0), (0, len(asked))))
    request = np.stack([_up(asked[name]) for name in asked], axis=1)
    return dataclasses.replace(
        load,
        resources=(*load.resources, *asked),
        capacity=np.hstack([load.capacity, np.stack([_up(room[name]) for name in asked], axis=1)]),
        reserved=reserved,
        request=np.hstack([load.request, request]),
        nonzero_request=np.hstack([load.nonzero_request, request]),
        limit=np.hstack([load.limit, _up(request * assumptions.limit_factor)]),
        facts={**load.facts, "containers_without_call_rate": known.count(0.0)},
    )


def _up(amounts: NDArray[Any]) -> IntArray:
    return np.asarray(np.ceil(amounts), dtype=np.int64)
