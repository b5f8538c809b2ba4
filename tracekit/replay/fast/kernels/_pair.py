"""How evenly two resources are requested, compiled: ``balance`` of two fractions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracekit.jit import compiled


@compiled
def requested_share(size: int, taken: int, asked: int) -> Any:
    """Requested of a resource with the container, 1 at most."""
    return min((taken + asked) / size, 1.0)


@compiled
def pair_balance(first: float, second: float) -> Any:
    """``placement._balance.balance`` of the fractions of two resources, 50..100."""
    return np.floor((1.0 - (max(first, second) - min(first, second)) / 2.0) * 100.0)
