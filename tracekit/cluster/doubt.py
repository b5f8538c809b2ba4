"""How far inferred sizes may be off, and sizes drawn from that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracekit.analysis.inference.estimate import NORMAL_95
from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray

#: No size is below this part of what is estimated: a container takes something.
LEAST_PART = 0.1


@dataclass(frozen=True, kw_only=True)
class SizeDoubt:
    """Inferred sizes with their intervals; containers of one group have one size.

    Parameters
    ----------
    group : int64, shape (containers,)
        Each container's group, a service as a rule.
    size : float64, shape (groups, 2)
        Millicores and bytes that a full container takes; NaN where nothing is inferred.
    low, high : float64, shape (groups, 2)
        95 % interval of the group's own size; NaN where the data say nothing of it.
    told : bool, shape (groups, 2)
        Whether the data tell the group's own size; else it has the common one.
    common, common_low, common_high : float64, shape (2,)
        The common size of all groups, and its 95 % interval; NaN where it cannot be told.
    spread : float64, shape (2,)
        Standard deviation of the logarithm of sizes over the groups that are told.
    limit_factor : float
        Limit over request.
    of_use : bool
        Whether recorded use is a fraction of these sizes, and so is drawn with them.
    node_use : float32, shape (2, steps, nodes), optional
        All use of nodes, of which drawn containers take their part; None without background.
    """

    group: IntArray
    size: FloatArray
    low: FloatArray
    high: FloatArray
    told: BoolArray
    common: FloatArray
    common_low: FloatArray
    common_high: FloatArray
    spread: FloatArray
    limit_factor: float
    of_use: bool
    node_use: Float32Array | None = None

    def on(self, nodes: IntArray) -> SizeDoubt:
        """The same where the nodes at these positions are all there are."""
        use = None if self.node_use is None else self.node_use[:, :, nodes]
        return replace(self, node_use=use)

    def drawn(self, rng: np.random.Generator) -> FloatArray:
        """Sizes as they may be too, shape (groups, 2).

        One that is told comes from the normal distribution that its interval is of. One that is not
        comes from around the common size, itself drawn from its interval, as far away as told sizes
        lie apart, and within what its own interval does not rule out.
        """
        noise = rng.standard_normal(self.size.shape)
        own = self.size + noise * (self.high - self.low) / (2 * NORMAL_95)
        common = self.common + rng.standard_normal(2) * (self.common_high - self.common_low) / (
            2 * NORMAL_95
        )
        other = self._allowed(np.maximum(common, LEAST_PART * self.common) * self._away(noise))
        found = np.where(self.told, own, other)
        return np.asarray(np.maximum(found, LEAST_PART * self.size))

    def _away(self, noise: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self.spread * noise))

    def _allowed(self, sizes: FloatArray) -> FloatArray:
        return allowed(sizes, self.low, self.high)


def allowed(sizes: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Sizes moved into their intervals, where these are known and hold anything above 0."""
    known = (high > 0) & ~np.isnan(low)
    return np.asarray(np.where(known, np.clip(sizes, low, np.where(known, high, sizes)), sizes))
