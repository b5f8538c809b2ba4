"""The problem of a search: a cost over a box, computed for many positions in one call."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.errors import TracekitError

#: Moves candidates to what is proposed where that costs less, in one go: takes proposed positions,
#: whose they are, all positions and all costs, and writes to these two; gives who costs least, -1
#: where a cost is no number.
Move = Callable[[FloatArray, IntArray, FloatArray, FloatArray], int]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A cost to be minimised between bounds.

    Parameters
    ----------
    lower, upper : float64, shape (dimensions,)
    cost : function
        Costs of positions: float64, shape (candidates, dimensions) to shape (candidates,).
    move : function, optional
        What ``Flock.propose`` does by ``cost``, done quicker; the same to the last bit.
    """

    lower: FloatArray
    upper: FloatArray
    cost: Callable[[FloatArray], FloatArray]
    move: Move | None = None

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

    def clipped(self, positions: FloatArray) -> FloatArray:
        """Positions brought back to the nearest point of the box; what is no number, to ``lower``.

        Multiplying by heavy-tailed draws overflows now and then; infinities are clipped as any
        other number, and 0 times infinity has to go somewhere.
        """
        return np.fmin(np.fmax(positions, self.lower), self.upper)

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
