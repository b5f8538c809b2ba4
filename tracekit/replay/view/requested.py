"""Requested against allocatable per resource, as the Kubernetes resource scorers count them.

Source: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go, kubernetes v1.34.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracekit.arrays import BoolArray, IntArray
from tracekit.parameters import Pairs, ParameterError
from tracekit.replay.view.snapshot import Container, Snapshot
from tracekit.replay.workload.resources import PODS, full_name, is_scalar

#: Resources by the names Kubernetes gives them, with their weights.
Weights = tuple[tuple[str, float], ...]


@dataclass(frozen=True, kw_only=True)
class Share:
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
    for short, weight in weights:
        column = snapshot.column(full_name(short))
        if column is None or full_name(short) == PODS:
            continue
        if is_scalar(full_name(short)) and asked[column] == 0:
            continue
        allocatable = snapshot.allocatable[nodes, column]
        yield Share(
            name=short,
            weight=weight,
            requested=on_nodes[nodes, column] + asked[column],
            allocatable=allocatable,
            counted=allocatable > 0,
            incoming=int(asked[column]),
        )


def check_weights(weights: Pairs, path: str, low: int, high: int) -> None:
    """Raise ParameterError, naming the field as upstream does, for a weight out of range."""
    for at, (resource, weight) in enumerate(weights):
        if not low <= weight <= high:
            raise ParameterError(
                f"{path}[{at}].weight",
                f"weight of resource {resource} must be {low}..{high}, got {weight}",
            )
