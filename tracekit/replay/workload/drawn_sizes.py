"""A workload whose inferred sizes are drawn anew: requests, use of containers, background."""

from __future__ import annotations

import dataclasses

import numpy as np

from tracekit.arrays import Float32Array, FloatArray
from tracekit.replay.workload.doubt import SizeDoubt
from tracekit.replay.workload.workload import Workload


def with_drawn_sizes(load: Workload, rng: np.random.Generator) -> Workload:
    """The workload with sizes drawn from their intervals; as it is where none is inferred.

    Where use is recorded as fractions of the sizes it is drawn with them, and what is left of the
    use of a node for its background; the use of every node stays what was measured.
    """
    doubt = load.doubt
    if doubt is None:
        return load
    before, after = doubt.size, doubt.drawn(rng)
    request, limit = load.request.copy(), load.limit.copy()
    nonzero = load.nonzero_request.copy()
    for resource in range(2):
        amount = after[doubt.group, resource]
        known = ~np.isnan(amount)
        asked = np.ceil(amount[known]).astype(np.int64)
        request[known, resource] = nonzero[known, resource] = asked
        limit[known, resource] = np.ceil(asked * doubt.limit_factor).astype(np.int64)
    made = dataclasses.replace(
        load,
        request=request,
        nonzero_request=nonzero,
        limit=limit,
        doubt=dataclasses.replace(doubt, size=after),
    )
    if not doubt.of_use:
        return made
    factor = np.nan_to_num(after / before, nan=1.0)[doubt.group].T
    usage = _scaled(load, factor)
    background = load.background if doubt.node_use is None else _rest(load, usage, doubt)
    return dataclasses.replace(made, usage=usage, background=background)


def _columns(load: Workload) -> np.ndarray:
    return np.arange(load.containers) if load.usage_column is None else load.usage_column


def _scaled(load: Workload, factor: FloatArray) -> Float32Array:
    """Use times the factor of each container, (2, containers); containers of a column share it."""
    by_column = np.ones((2, load.usage.shape[2]), dtype=np.float32)
    by_column[:, _columns(load)] = factor
    return np.asarray(load.usage * by_column[:, None, :])


def _rest(load: Workload, usage: Float32Array, doubt: SizeDoubt) -> Float32Array:
    """What the containers recorded on a node leave of its use, never below 0."""
    assert doubt.node_use is not None  # noqa: S101 - the caller looked
    rest = np.zeros_like(doubt.node_use)
    # a replica in a larger load shares its original's column, and only that one was measured
    columns, first = np.unique(_columns(load), return_index=True)
    node = load.recorded_node[first]
    known = node >= 0
    columns, node = columns[known], node[known]
    for resource, series in enumerate(usage):
        for step, row in enumerate(series):
            used = np.nan_to_num(row[columns])
            own = np.bincount(node, used, load.nodes)
            rest[resource, step] = np.fmax(doubt.node_use[resource, step] - own, 0.0)
    return rest
