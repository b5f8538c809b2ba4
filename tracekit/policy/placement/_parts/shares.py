"""Requested against allocatable per resource, as the Kubernetes resource scorers count them.

Source: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go, kubernetes v1.34.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.parameters import Pairs, ParameterError
from tracekit.cluster.resources import PODS, column_of, full_name, is_scalar
from tracekit.policy.view.snapshot import Container, Snapshot

#: Resources by the names Kubernetes gives them, with their weights.
Weights = tuple[tuple[str, float], ...]


class Share(NamedTuple):
    """One configured resource on the candidate nodes.

    Parameters
    ----------
    requested : int64, shape (candidates,)
        Containers on the node and the incoming one.
    allocatable : int64, shape (candidates,)
    counted : bool, shape (candidates,)
        False where the resource is dropped: the node has none of it.
    incoming : int
        What of ``requested`` the incoming container asks for.
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
    """Each configured resource that the container and some node speak of.

    With ``nonzero`` missing cpu and memory requests count as the scheduler's defaults. A scalar
    resource the container does not request is dropped altogether.
    """
    on_nodes = snapshot.nonzero_requested if nonzero else snapshot.requested
    asked = container.nonzero_request if nonzero else container.request
    for short, weight, column, dropped in _columns(*_hashable(snapshot, weights)):
        if dropped and asked[column] == 0:
            continue
        # a column first: one index is quicker than two
        allocatable = snapshot.allocatable[:, column][nodes]
        yield Share(
            name=short,
            weight=weight,
            requested=on_nodes[:, column][nodes] + asked[column],
            allocatable=allocatable,
            counted=allocatable > 0,
            incoming=int(asked[column]),
        )


def _hashable(snapshot: Snapshot, weights: Weights) -> tuple[tuple[str, ...], Weights]:
    """Names and weights as tuples: a user's formula may give them in a list."""
    return tuple(snapshot.resources), tuple((name, weight) for name, weight in weights)


@functools.lru_cache(maxsize=64)
def _columns(
    resources: tuple[str, ...], weights: Weights
) -> Sequence[tuple[str, float, int, bool]]:
    """Each configured resource that is there: name, weight, column, and whether it is a scalar."""
    full = ((short, weight, full_name(short)) for short, weight in weights)
    there = ((short, weight, name, column_of(resources, name)) for short, weight, name in full)
    return [
        (short, weight, column, is_scalar(name))
        for short, weight, name, column in there
        if column is not None and name != PODS
    ]


def check_weights(weights: Pairs, path: str, low: int, high: int) -> None:
    """Raise ParameterError, naming the field as upstream does, for a weight out of range."""
    for at, (resource, weight) in enumerate(weights):
        if not low <= weight <= high:
            raise ParameterError(
                f"{path}[{at}].weight",
                f"weight of resource {resource} must be {low}..{high}, got {weight}",
            )
