"""Requested and allocatable amounts of resources, as in the Kubernetes resource scorers.

Source: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go, kubernetes v1.34.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.parameters import Pairs, ParameterError
from tracekit.cluster.resources import PODS, column_of, full_name, is_scalar
from tracekit.policy.view.snapshot import Container, Snapshot

#: Resources by their Kubernetes names, with their weights.
Weights = tuple[tuple[str, float], ...]


class Share(NamedTuple):
    """One configured resource on the candidate nodes.

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
    """The share of each configured resource that the cluster has.

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
    """Raise ParameterError with upstream's name of the field for a weight out of range."""
    for at, (resource, weight) in enumerate(weights):
        if not low <= weight <= high:
            raise ParameterError(
                f"{path}[{at}].weight",
                f"weight of resource {resource} must be {low}..{high}, got {weight}",
            )
