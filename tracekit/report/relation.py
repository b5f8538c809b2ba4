"""Whether one thing rises with another, in words: Spearman's rank correlation and its interval.

Source of the interval: Bonett and Wright, Psychometrika 65 (2000), equation 5: Fisher's z with the
variance (1 + r^2 / 2) / (n - 3).
"""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.inference.estimate import NORMAL_95
from tracekit.words import MINUS

#: Fewer pairs tell nothing.
_FEWEST = 10
#: Weaker than this is no answer to whoever wants to act on it.
_SLIGHT = 0.1


@dataclass(frozen=True)
class Relation:
    """A rank correlation in -1..1 with its 95 % interval, over so many pairs."""

    value: float
    low: float
    high: float
    pairs: int

    @property
    def way(self) -> str:
        """``rises``, ``falls``, or empty where chance does not rule out none, or it is slight."""
        if self.low <= 0 <= self.high or abs(self.value) < _SLIGHT:
            return ""
        return "rises" if self.value > 0 else "falls"

    def text(self) -> str:
        """The number with its interval."""
        value, low, high = (_digits(one) for one in (self.value, self.low, self.high))
        return f"rank correlation {value} ({low} to {high})"


def relation(first: pl.Series, second: pl.Series) -> Relation | None:
    """How far two series of numbers rise together; None for too few pairs, or one that is level."""
    pairs = len(first)
    if pairs < _FEWEST or first.n_unique() < 2 or second.n_unique() < 2:
        return None
    ranks = np.stack([one.rank("average").to_numpy() for one in (first, second)])
    value = float(np.corrcoef(ranks)[0, 1])
    reach = NORMAL_95 * math.sqrt((1 + value**2 / 2) / (pairs - 3))
    middle = math.atanh(max(min(value, 1 - 1e-12), 1e-12 - 1))
    return Relation(value, math.tanh(middle - reach), math.tanh(middle + reach), pairs)


def _digits(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)
