"""The problem of a search: a cost over a box, computed for many positions in one call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError


class CompiledCost(NamedTuple):
    """A cost as compiled code calls it: see ``Flock.cost`` and ``Flock.given``."""

    function: Any
    given: Any


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A cost to be minimised between bounds.

    Parameters
    ----------
    lower, upper : float64, shape (dimensions,)
    cost : function
        Costs of positions: float64, shape (candidates, dimensions) to shape (candidates,).
    compiled : CompiledCost, optional
        The same cost for compiled code; the same to the last bit.
    """

    lower: FloatArray
    upper: FloatArray
    cost: Callable[[FloatArray], FloatArray]
    compiled: CompiledCost | None = None

    def __post_init__(self) -> None:
        if self.lower.shape != self.upper.shape or self.lower.ndim != 1 or not len(self.lower):
            raise TracekitError(
                f"bounds have shapes {self.lower.shape} and {self.upper.shape}",
                hint="give one lower and one upper bound per dimension, at least one",
            )
        wrong = np.flatnonzero(~(self.lower < self.upper))
        if len(wrong):
            at = int(wrong[0])
            raise TracekitError(
                f"dimension {at}: the lower bound {self.lower[at]:g} is not below"
                f" the upper bound {self.upper[at]:g}"
            )

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return len(self.lower)

    def evaluate(self, positions: FloatArray) -> FloatArray:
        """Costs of positions inside the box, shape (candidates,); TracekitError for a NaN."""
        costs = np.asarray(self.cost(positions), dtype=np.float64)
        if costs.shape != positions.shape[:1]:
            raise TracekitError(
                f"the objective gave shape {costs.shape} for {len(positions)} positions",
                hint="return one cost per position",
            )
        # the least of numbers of which one is NaN is NaN
        if np.isnan(np.minimum.reduce(costs, initial=np.inf)):
            bad = np.flatnonzero(np.isnan(costs))
            where = ", ".join(f"{value:g}" for value in positions[bad[0]][:5])
            raise TracekitError(
                f"the objective gave NaN at position ({where}{', ...' * (self.dimensions > 5)})",
                hint="give what is impossible a high cost instead",
            )
        return costs
