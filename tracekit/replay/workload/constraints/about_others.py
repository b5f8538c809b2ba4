"""What rules about other containers share: containers by classes, nodes by domains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.constraints.constraint import Constraint
from tracekit.replay.workload.constraints.relation import Related


@dataclass(frozen=True, kw_only=True, eq=False)
class RulesAboutOthers(Constraint):
    """Base of the constraints by which containers mean other containers.

    Parameters
    ----------
    related : Related
    domain : int64, shape (rows, nodes)
        -1 is no domain.
    """

    related: Related
    domain: IntArray

    @property
    def nodes(self) -> int:
        """How many nodes are in a domain or none."""
        return int(self.domain.shape[1])

    def taken(self, order: IntArray) -> Self:
        """The same of other containers, or in another order."""
        return replace(self, related=self.related.taken(order))

    def on(self, nodes: IntArray) -> Self:
        """The same where the nodes at these positions are all there are."""
        return replace(self, domain=self.domain[:, nodes])


@dataclass(frozen=True, kw_only=True, eq=False)
class RulesOfTheirOwn(RulesAboutOthers):
    """Base of those that concern only who states a rule."""

    @property
    def kinds(self) -> IntArray:
        """The class of each that states a rule."""
        return np.where(self.related.stating, self.related.of, -1)

    @property
    def awaits(self) -> BoolArray:
        """Those that state a rule."""
        return self.related.stating
