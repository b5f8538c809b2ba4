"""Shared parts of loaders: a table of containers in order of arrival becomes a workload."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.workload.resources import BASE, column_order


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
        capacity=np.stack([_whole(np.floor, capacity[name], 1) for name in resources], axis=1),
        request=np.stack([_whole(np.ceil, request[name], -1) for name in resources], axis=1),
    )


def spread_slots(containers: int, span_ms: int) -> IntArray:
    """Times of arrival that share a span evenly, from 0, shape (containers,)."""
    return np.arange(containers, dtype=np.int64) * span_ms // max(containers, 1)


# Decimal fractions times a unit miss whole numbers by rounding; that is no millicore and no byte.
_ROUNDING = 1e-6


def _whole(rounded: np.ufunc, amounts: FloatArray, sign: int) -> IntArray:
    return np.asarray(rounded(amounts + sign * _ROUNDING), dtype=np.int64)
