"""A policy's score as one formula, resource by resource, written once for arrays and compiled code.

The plain engine hands its functions arrays; the fast one compiles them, and takes the same formula
at the corner of a box of nodes for the best that any node inside could score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.policy.placement._parts.shares import Share, Weights, shares
from tracekit.policy.view.snapshot import Container, Snapshot


def quotient(top: Any, bottom: Any) -> Any:
    """The whole part of ``top / bottom``, exact of integers; ``bottom`` counts as 1 at least."""
    least = np.maximum(bottom, 1)
    whole = np.result_type(top, least).kind == "i"
    return top // least if whole else np.floor(top / least)


def either(condition: Any, first: Any, second: Any) -> Any:
    """``first`` where the condition holds, else ``second``."""
    return np.where(condition, first, second)


def _either_number(condition: bool, first: float, second: float) -> Any:
    """As ``either``, of single numbers."""
    return first if condition else second


#: Functions of numbers by the functions of arrays that they stand for in compiled code.
NUMBERS: Mapping[Any, Any] = {either: _either_number}


def least_apart(low: Any, high: Any, below: Any, above: Any) -> Any:
    """The least distance of a value in ``low..high`` from one in ``below..above``."""
    return np.maximum(np.maximum(low - above, below - high), 0.0)


def unchanged(total: Any, weights: Any) -> Any:  # noqa: ARG001
    """The sum itself."""
    return total


@dataclass(frozen=True, kw_only=True)
class Formula:
    """Higher is better; ``part`` and ``total`` are plain functions of a module.

    They hold arithmetic, comparisons, numpy's functions of single numbers, ``quotient``, ``either``
    and other such functions, so that they take arrays and, compiled, numbers.

    Parameters
    ----------
    part : function(size, wanted) or function(size, wanted, constants)
        The score of one resource: ``size`` is what a node has of it, 1 or more, ``wanted`` what is
        requested of that together with the container.
    resources : tuple of (str, weight)
        Resources and the weights, above 0, of their parts; none where every node scores alike. A
        scalar resource that the container does not ask for is left out. A node that has none of a
        resource scores 0 for it.
    total : function(total, weights)
        The score from the weighted sum of the parts, and the sum of the weights that count on a
        node: those of what it has.
    better : {'emptier', 'fuller', 'alike'}, optional
        Whether the score rises, or falls, with what a node has left and with its size, up to where
        it is full. Then an index is searched instead of scoring every node. ``alike`` is for two
        resources with the weights 1 and -1, and a part that rises as a node gets fuller: the score
        falls with the distance of the two parts.
    nonzero : bool
        Whether containers without a request count with the scheduler's defaults.
    constants : tuple of numbers
        What ``part`` needs of the policy's parameters.
    asked : function(container), optional
        The container as this score counts it, where pods bring more than their containers' sum;
        the containers of a replay bring no more.
    """

    part: Callable[..., Any]
    resources: Weights
    total: Callable[[Any, Any], Any] = unchanged
    better: Literal["emptier", "fuller", "alike"] | None = None
    nonzero: bool = False
    constants: tuple[float, ...] = ()
    asked: Callable[[Container], Container] | None = None

    def __post_init__(self) -> None:
        weights = [weight for _, weight in self.resources]
        if self.better == "alike" and weights != [1, -1]:
            raise TracekitError(
                f"a formula with better='alike' has the weights {weights}, expected [1, -1]",
                hint="it compares two resources with each other",
            )

    def score(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> IntArray | FloatArray:
        """The score of each node, shape (candidates,)."""
        return self._weighted(
            np.zeros(len(nodes), dtype=np.int64),
            (
                (share.weight, part)
                if share.counted.all()
                else (np.where(share.counted, share.weight, 0), np.where(share.counted, part, 0))
                for share, part in self._parts(snapshot, container, nodes)
            ),
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """The part of each resource, NaN on nodes that have none of it."""
        found = self._parts(snapshot, container, nodes)
        return {share.name: np.where(share.counted, part, np.nan) for share, part in found}

    def value(self, sizes: IntArray, wanted: IntArray) -> IntArray | FloatArray:
        """The score of nodes that have something of every resource.

        Parameters
        ----------
        sizes, wanted : int64, shape (resources, nodes), in the order of ``resources``
        """
        weights = [weight for _, weight in self.resources]
        parts = (self._part(*row) for row in zip(sizes, wanted, strict=True))
        nothing = np.zeros(sizes.shape[1:], dtype=np.int64)
        return self._weighted(nothing, zip(weights, parts, strict=True))

    def _weighted(self, nothing: Any, parts: Iterable[tuple[Any, Any]]) -> IntArray | FloatArray:
        """The score from weights and parts, resource by resource."""
        total, weights = nothing, nothing
        for weight, part in parts:
            total, weights = total + part * weight, weights + weight
        return np.asarray(self.total(total, weights))

    def corner(self, sizes: IntArray, wanted: IntArray) -> IntArray | FloatArray:
        """What no score of these nodes exceeds, shape (1,), as the index of the fast engine bounds.

        It is the score of a node as large, and as empty or full, as the best of them in each
        resource, though never too full. Where parts that are alike are best, it is the score of the
        least distance that the ends of both leave.
        """
        emptiest, fullest = (
            (large(sizes, axis=1, keepdims=True), small(wanted, axis=1, keepdims=True))
            for large, small in ((np.max, np.min), (np.min, np.max))
        )
        if self.better == "alike":
            low, high = self._part(*emptiest), self._part(*fullest)
            return np.asarray(self.total(least_apart(low[0], high[0], low[1], high[1]), 0))
        size, most = emptiest if self.better == "emptier" else fullest
        return self.value(size, np.minimum(most, size))

    def _parts(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> Iterator[tuple[Share, Any]]:
        counted = self.asked(container) if self.asked else container
        for share in shares(snapshot, counted, nodes, self.resources, nonzero=self.nonzero):
            size = np.maximum(share.allocatable, 1)
            yield share, self._part(size, share.requested)

    def _part(self, size: Any, wanted: Any) -> Any:
        """The score of one resource, with the constants if there are any."""
        return self.part(size, wanted, *((self.constants,) if self.constants else ()))
