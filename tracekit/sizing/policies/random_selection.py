"""Random selection (MN): a random first size, by the final sizes of minimum selection."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.sizing.policies.minimum_selection import Growing, MinimumSelection
from tracekit.sizing.policy import Given, Reads, SizingPolicy, simulate
from tracekit.sizing.world.simulation import Simulation


@dataclass(frozen=True, kw_only=True)
class RandomSelection(SizingPolicy):
    """Draw the first size among the final sizes of minimum selection on the training chains."""

    source: ClassVar[str] = "MN of the CTM21 analysis (Yao et al. 2023), section 3.2"
    reads: ClassVar[frozenset[Reads]] = frozenset({"served", "training"})

    def start(self, given: Given) -> Growing:
        """A sizer with drawn sizes, after minimum selection on the training chains."""
        if given.training is None:
            raise TypeError("random selection reads 'training'")
        largest = int(given.settings.largest.min())
        finals = Simulation(given.training, given.settings)
        simulate(finals, MinimumSelection(), rng=given.rng)
        sizes = finals.arrays.limit[:, 0].astype(np.int64)
        chances = shares(np.bincount(sizes, minlength=largest + 1)[1:])
        drawn = given.rng.choice(np.arange(1, largest + 1), size=given.containers, p=chances)
        return Growing(drawn.astype(np.float64), float(largest))


def shares(counts: IntArray) -> FloatArray:
    """The share of each final size, of sum 1."""
    return np.asarray(counts / np.sum(counts))
