"""Other orders of arrival of a workload, and other sizes where sizes were inferred."""

import dataclasses

import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.cluster.gangs import redrawn
from tracekit.cluster.provenance import SizeDoubt
from tracekit.cluster.workload import Workload


def with_drawn_sizes(load: Workload, rng: np.random.Generator) -> Workload:
    """The workload with sizes drawn from their intervals; unchanged if none is inferred.

    If recorded use is a fraction of the sizes, use is scaled with them, and the background becomes
    what is then left of the node's use. The measured use of every node stays.
    """
    doubt = load.provenance.doubt
    if doubt is None:
        return load
    before, after = doubt.size, doubt.drawn(rng)
    request, limit = load.containers.request.copy(), load.containers.limit.copy()
    nonzero = load.containers.nonzero_request.copy()
    for resource in range(2):
        amount = after[doubt.group, resource]
        known = ~np.isnan(amount)
        amounts = np.ceil(amount[known]).astype(np.int64)
        request[known, resource] = nonzero[known, resource] = amounts
        limit[known, resource] = np.ceil(amounts * doubt.limit_factor).astype(np.int64)
    made = dataclasses.replace(
        load,
        containers=dataclasses.replace(
            load.containers, request=request, nonzero_request=nonzero, limit=limit
        ),
        provenance=dataclasses.replace(
            load.provenance, doubt=dataclasses.replace(doubt, size=after)
        ),
    )
    if not doubt.of_use:
        return made
    factor = np.nan_to_num(after / before, nan=1.0)[doubt.group].T
    usage = _scaled(load, factor)
    background = load.use.background if doubt.node_use is None else _rest(load, usage, doubt)
    return dataclasses.replace(
        made, use=dataclasses.replace(made.use, values=usage, background=background)
    )


def _columns(load: Workload) -> np.ndarray:
    return np.arange(load.containers.count) if load.use.column is None else load.use.column


def _scaled(load: Workload, factor: FloatArray) -> Float32Array:
    """Use times each container's factor, (2, containers); containers of a column share it."""
    by_column = np.ones((2, load.use.values.shape[2]), dtype=np.float32)
    by_column[:, _columns(load)] = factor
    return np.asarray(load.use.values * by_column[:, None, :])


def _rest(load: Workload, usage: Float32Array, doubt: SizeDoubt) -> Float32Array:
    """The use of a node beyond its recorded containers, never below 0."""
    assert doubt.node_use is not None  # noqa: S101 - the caller looked
    rest = np.zeros_like(doubt.node_use)
    # a replica in a larger load shares its original's column, and only that one was measured
    columns, first = np.unique(_columns(load), return_index=True)
    node = load.containers.recorded_node[first]
    known = node >= 0
    columns, node = columns[known], node[known]
    for resource, series in enumerate(usage):
        for step, row in enumerate(series):
            used = np.nan_to_num(row[columns])
            own = np.bincount(node, used, load.nodes.count)
            rest[resource, step] = np.fmax(doubt.node_use[resource, step] - own, 0.0)
    return rest


def rearranged(load: Workload, rng: np.random.Generator) -> Workload:
    """The same workload with its containers in another order of arrival, drawn from ``rng``.

    Exchangeable containers draw new times of arrival among themselves, containers that arrive at
    one time come in a new order, and gangs stay in one piece. Nothing else changes: once all have
    arrived, every order makes the same demand on the cluster. Sizes that were inferred are drawn
    from their intervals, so that the spread over orders includes their doubt.

    Daemons keep their time and order, and come before other containers of that time. Nothing is
    drawn for them, so that the others come in the same order on more nodes and on fewer.
    """
    daemons, others = _daemons_and_others(load)
    arrival = load.containers.arrival_ms.copy()
    if load.containers.exchangeable is not None:
        slots = others[load.containers.exchangeable[others]]
        arrival[rng.permutation(slots)] = load.containers.arrival_ms[slots]
    shuffle = np.concatenate([daemons, others[rng.permutation(len(others))]])
    order = shuffle[np.argsort(arrival[shuffle], kind="stable")]
    return with_drawn_sizes(redrawn(load, order, arrival), rng)


def _daemons_and_others(load: Workload) -> tuple[IntArray, IntArray]:
    """Positions of the daemons, and of all other containers, each in order."""
    if load.rules.daemon is None:
        return np.arange(0), np.arange(load.containers.count)
    return np.flatnonzero(load.rules.daemon), np.flatnonzero(~load.rules.daemon)
