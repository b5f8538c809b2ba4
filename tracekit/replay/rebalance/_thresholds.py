"""Thresholds per resource, as parameters: percent of what a node may allocate.

Source: validation.go of sigs.k8s.io/descheduler @7d2b28bf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.parameters import About, ParameterError
from tracekit.replay.workload.resources import full_name

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
