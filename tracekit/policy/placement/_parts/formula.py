"""A policy's score as one formula over resources, for arrays and for compiled code.

The plain engine calls the functions of a formula with arrays. The fast engine compiles them, and
uses the same formula for an upper bound of the scores of a group of nodes (``Formula.corner``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import Pairs, ParameterError
from tracekit.cluster.resources import PODS, column_of, full_name, is_scalar
from tracekit.policy.view.snapshot import Container, Snapshot


def quotient(top: Any, bottom: Any) -> Any:
    """Return the whole part of ``top / bottom``, exact for integers.

    A ``bottom`` below 1 counts as 1.
    """
    least = np.maximum(bottom, 1)
    whole = np.result_type(top, least).kind == "i"
    return top // least if whole else np.floor(top / least)


def either(condition: Any, first: Any, second: Any) -> Any:
    """Return ``first`` where the condition holds, else ``second``."""
    return np.where(condition, first, second)


def _either_number(condition: bool, first: float, second: float) -> Any:
    """As ``either``, for single numbers."""
    return first if condition else second


#: The function of numbers that replaces a function of arrays in compiled code.
NUMBERS: Mapping[Any, Any] = {either: _either_number}


def least_apart(low: Any, high: Any, below: Any, above: Any) -> Any:
    """Return the distance of the ranges ``low..high`` and ``below..above``; 0 if they overlap."""
    return np.maximum(np.maximum(low - above, below - high), 0.0)


def unchanged(total: Any, weights: Any) -> Any:  # noqa: ARG001
    """Return the weighted sum itself, as the default of ``Formula.total``."""
    return total


@dataclass(frozen=True, kw_only=True)
class Formula:
    """A policy's score as a weighted sum of one part per resource; higher is better.

    ``part`` and ``total`` are plain functions of a module. They consist of arithmetic, comparisons,
    numpy's functions of single numbers, ``quotient``, ``either`` and other such functions, so that
    they work on arrays and, compiled, on numbers.

    Parameters
    ----------
    part : function(size, wanted) or function(size, wanted, constants)
        The score of one resource. ``size`` is the allocatable amount of the node, 1 or more;
        ``wanted`` is the sum of requests on the node with the container.
    resources : tuple of (str, weight)
        Resources and the weights of their parts, above 0; empty if every node has the same score. A
        scalar resource that the container does not request is left out. A node without a resource
        scores 0 for it.
    total : function(total, weights)
        Turns the weighted sum of the parts into the score. ``weights`` is the sum of the weights of
        the resources that the node has.
    better : {'emptier', 'fuller', 'alike'}, optional
        Lets an engine search an index instead of scoring every node. ``emptier``: the score rises
        with the free amount and the size of a node that is not over-full; ``fuller``: it falls.
        ``alike``: the score falls with the distance of two parts, whose weights are 1 and -1 and
        which rise with requests.
    nonzero : bool
        Whether a missing request of cpu or memory counts as the scheduler's default.
    constants : tuple of numbers
        Parameters of the policy that ``part`` needs.
    counted_as : function(container), optional
        The container as the score counts it, for pods of recorded cases with an overhead.
    """

    part: Callable[..., Any]
    resources: Weights
    total: Callable[[Any, Any], Any] = unchanged
    better: Literal["emptier", "fuller", "alike"] | None = None
    nonzero: bool = False
    constants: tuple[float, ...] = ()
    counted_as: Callable[[Container], Container] | None = None

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
        """Return the score of each node, shape (candidates,)."""
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
        """Return the part of each resource, NaN for a node without the resource."""
        parts = self._parts(snapshot, container, nodes)
        return {share.name: np.where(share.counted, part, np.nan) for share, part in parts}

    def value(self, sizes: IntArray, wanted: IntArray) -> IntArray | FloatArray:
        """Return the score of nodes that have every resource.

        Parameters
        ----------
        sizes, wanted : int64, shape (resources, nodes), in the order of ``resources``
        """
        weights = [weight for _, weight in self.resources]
        parts = (self._part(*row) for row in zip(sizes, wanted, strict=True))
        nothing = np.zeros(sizes.shape[1:], dtype=np.int64)
        return self._weighted(nothing, zip(weights, parts, strict=True))

    def _weighted(self, nothing: Any, parts: Iterable[tuple[Any, Any]]) -> IntArray | FloatArray:
        """The score from the weight and the part of each resource."""
        total, weights = nothing, nothing
        for weight, part in parts:
            total, weights = total + part * weight, weights + weight
        return np.asarray(self.total(total, weights))

    def corner(self, sizes: IntArray, wanted: IntArray) -> IntArray | FloatArray:
        """Return an upper bound of the scores of a group of nodes, shape (1,).

        It is the score of a node that has the group's best size and best request in each resource,
        where the request is at most the size. With ``alike`` it is the score of the least distance
        between the ranges of the two parts.
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
        counted = self.counted_as(container) if self.counted_as else container
        for share in shares(snapshot, counted, nodes, self.resources, nonzero=self.nonzero):
            size = np.maximum(share.allocatable, 1)
            yield share, self._part(size, share.requested)

    def _part(self, size: Any, wanted: Any) -> Any:
        """The part of one resource, with the constants, if any."""
        return self.part(size, wanted, *((self.constants,) if self.constants else ()))


#: Resources by their Kubernetes names, with their weights.
Weights = tuple[tuple[str, float], ...]


class Share(NamedTuple):
    """The amounts of one configured resource on the candidate nodes; see ``shares``.

    Parameters
    ----------
    requested : int64, shape (candidates,)
        Requests on the node with the incoming container.
    allocatable : int64, shape (candidates,)
    counted : bool, shape (candidates,)
        Whether the node has the resource.
    incoming : int
        The request of the incoming container.
    """

    name: str
    weight: float
    requested: IntArray
    allocatable: IntArray
    counted: BoolArray
    incoming: int


def shares(
    snapshot: Snapshot, container: Container, nodes: IntArray, weights: Weights, *, nonzero: bool
) -> Iterator[Share]:
    """Yield a ``Share`` for each configured resource that the cluster has, but the number of pods.

    With ``nonzero`` missing requests of cpu and memory count as the scheduler's defaults. A scalar
    resource that the container does not request is left out.
    """
    on_nodes = snapshot.nonzero_requested if nonzero else snapshot.requested
    request = container.nonzero_request if nonzero else container.request
    for short, weight, column, dropped in _columns(*_hashable(snapshot, weights)):
        if dropped and request[column] == 0:
            continue
        # the column first, as one index is faster than two
        allocatable = snapshot.allocatable[:, column][nodes]
        yield Share(
            name=short,
            weight=weight,
            requested=on_nodes[:, column][nodes] + request[column],
            allocatable=allocatable,
            counted=allocatable > 0,
            incoming=int(request[column]),
        )


def _hashable(snapshot: Snapshot, weights: Weights) -> tuple[tuple[str, ...], Weights]:
    """Names and weights as tuples, as a user's formula may have lists."""
    return tuple(snapshot.resources), tuple((name, weight) for name, weight in weights)


@functools.lru_cache(maxsize=64)
def _columns(
    resources: tuple[str, ...], weights: Weights
) -> Sequence[tuple[str, float, int, bool]]:
    """Each configured resource of the cluster: name, weight, column, and whether it is a scalar."""
    full = ((short, weight, full_name(short)) for short, weight in weights)
    rows = ((short, weight, name, column_of(resources, name)) for short, weight, name in full)
    return [
        (short, weight, column, is_scalar(name))
        for short, weight, name, column in rows
        if column is not None and name != PODS
    ]


def check_weights(weights: Pairs, path: str, low: int, high: int) -> None:
    """Raise ParameterError for a weight outside of low..high; ``path`` is the field in errors."""
    for at, (resource, weight) in enumerate(weights):
        if not low <= weight <= high:
            raise ParameterError(
                f"{path}[{at}].weight",
                f"weight of resource {resource} must be {low}..{high}, got {weight}",
            )
