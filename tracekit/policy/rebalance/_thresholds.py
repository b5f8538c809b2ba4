"""Thresholds in percent: as parameters, and which nodes lie below or above them.

Source: validation.go of sigs.k8s.io/descheduler @7d2b28bf.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.cluster.resources import full_name

#: Percent by resource; written ``cpu:20+memory:20``.
Thresholds = tuple[tuple[str, float], ...]
Underused = Annotated[
    Thresholds, About("A node at or below all of these is underused, percent of allocatable.")
]
UNDERUSED: Underused = (("cpu", 20.0), ("memory", 20.0), ("pods", 20.0))
FewNodes = Annotated[
    int, About("Do nothing while no more nodes than this are underused.", minimum=0)
]


def named(thresholds: Thresholds) -> dict[str, float]:
    """Percent by the full name of the resource."""
    return {full_name(name): float(value) for name, value in thresholds}


def row(thresholds: Mapping[str, float], resources: Sequence[str]) -> FloatArray:
    """Percent in the order of the resources, NaN where there is no threshold."""
    return np.array([thresholds.get(name, np.nan) for name in resources], dtype=np.float64)


def check(field: str, thresholds: Thresholds) -> None:
    """Raise ParameterError when there is no threshold, or one outside 0..100."""
    if not thresholds:
        raise ParameterError(field, f"{field} must name a resource, got none")
    for name, value in thresholds:
        if not 0 <= value <= 100:
            raise ParameterError(field, f"{field} of {name} must be 0..100 percent, got {value:g}")


def check_pair(low: Thresholds, high: Thresholds, *, relative: bool) -> None:
    """Raise ParameterError when both do not fit together: other resources, or low above high."""
    lower, upper = named(low), named(high)
    if set(lower) != set(upper):
        raise ParameterError(
            "target_thresholds",
            f"thresholds and target_thresholds must name the same resources, got"
            f" {', '.join(lower)} and {', '.join(upper)}",
        )
    for name, value in lower.items():
        if value > upper[name] and not relative:
            raise ParameterError(
                "thresholds",
                f"threshold {value:g} of {name} must not be above its target {upper[name]:g}",
            )


# Node usage in percent of capacity, thresholds, and which nodes lie below or above them. Percent
# as the descheduler has them, 0..100 and beyond, since its thresholds are stated so. NaN stands
# for a value that is not known: a resource a node does not report, or lacks. Source:
# nodeutilization.go and normalizer.go of sigs.k8s.io/descheduler @7d2b28bf.


def percent_of(used: ArrayLike, capacity: ArrayLike) -> FloatArray:
    """``used / capacity * 100``, not clamped; 0 where there is no capacity, NaN where unknown.

    Parameters
    ----------
    used, capacity : array, shape (nodes, resources)
    """
    part, whole = np.broadcast_arrays(
        np.asarray(used, dtype=np.float64), np.asarray(capacity, dtype=np.float64)
    )
    share = np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
    return np.where(np.isnan(part) | np.isnan(whole), np.nan, share * 100.0)


def mean_percent(percent: FloatArray) -> FloatArray:
    """Mean of each resource over the nodes that report it, shape (resources,); NaN where none."""
    known = ~np.isnan(percent)
    total, count = np.where(known, percent, 0.0).sum(axis=0), known.sum(axis=0)
    nothing = np.full(total.shape, np.nan)
    return np.asarray(np.divide(total, count, out=nothing, where=count > 0))


def shifted(values: FloatArray, by: ArrayLike) -> FloatArray:
    """``values + by``, unchanged where ``by`` is NaN, NaN where the value is."""
    return np.asarray(values + np.nan_to_num(np.asarray(by, dtype=np.float64), nan=0.0))


def clamped(values: FloatArray, low: float = 0.0, high: float = 100.0) -> FloatArray:
    """Values no lower than ``low``, no higher than ``high``; NaN stays."""
    return np.clip(values, low, high)


def below(percent: FloatArray, limit: ArrayLike) -> BoolArray:
    """Nodes with every resource at or below its limit, shape (nodes,).

    A resource without a limit (NaN) is ignored; one that is not known counts as 0.
    """
    return np.asarray(~above(percent, limit))


def above(percent: FloatArray, limit: ArrayLike) -> BoolArray:
    """Nodes with some resource over its limit, shape (nodes,)."""
    bound = np.nan_to_num(np.asarray(limit, dtype=np.float64), nan=np.inf)
    return np.asarray((np.nan_to_num(percent, nan=0.0) > bound).any(axis=-1))


def by_usage(used: ArrayLike, *, ascending: bool) -> IntArray:
    """Positions of nodes in order of their usage added up over resources, whatever the units.

    Millicores, bytes and counts are added as they are, so that memory decides. Equal ones stay in
    order.
    """
    total = np.asarray(used).sum(axis=1)
    return np.argsort(total if ascending else -total, kind="stable")
