"""Shared parts of loaders: a table of containers in order of arrival becomes a workload."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.resources import BASE, column_order, rounded_down, rounded_up


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Amounts per resource as columns.

    Parameters
    ----------
    resources : tuple of str
        cpu, memory, and every further resource that some container asks for.
    capacity : int64, shape (nodes, resources)
    request : int64, shape (containers, resources)
    """

    resources: tuple[str, ...]
    capacity: IntArray
    request: IntArray


def sizes(capacity: Mapping[str, FloatArray], request: Mapping[str, FloatArray]) -> Sizes:
    """Columns of amounts by resource; requests are rounded up, capacities down.

    A resource that no container asks for is left out: it can decide nothing.
    """
    asked = [name for name in request if name in BASE or request[name].any()]
    resources = column_order(asked)
    return Sizes(
        resources=resources,
        capacity=np.stack([rounded_down(capacity[name]) for name in resources], axis=1).astype(
            np.int64
        ),
        request=np.stack([rounded_up(request[name]) for name in resources], axis=1).astype(
            np.int64
        ),
    )


def spread_slots(containers: int, span_ms: int) -> IntArray:
    """Times of arrival that share a span evenly, from 0, shape (containers,)."""
    return np.arange(containers, dtype=np.int64) * span_ms // max(containers, 1)
