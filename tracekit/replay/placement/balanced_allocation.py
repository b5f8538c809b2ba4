"""Balanced allocation: the node whose resources would be requested most evenly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.parameters import About, Pairs
from tracekit.replay.placement import PlacementPolicy, Reads, ScoreError, Scores
from tracekit.replay.requested import check_weights, shares
from tracekit.replay.resources import full_name
from tracekit.replay.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class BalancedAllocation(PlacementPolicy):
    """Keep the requested fractions of the resources close to each other on every node."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.35 noderesources/balanced_allocation.go (NodeResourcesBalancedAllocation)"
    )

    resources: Annotated[Pairs, About("Resources to look at; every weight must be 1.")] = (
        ("cpu", 1),
        ("memory", 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self.resources, "resources", 1, 1)

    def skips(self, snapshot: Snapshot, container: Container) -> bool:
        """Whether the container requests nothing of any configured resource."""
        columns = [snapshot.column(full_name(name)) for name, _ in self.resources]
        return all(container.request[at] == 0 for at in columns if at is not None)

    def score(self, snapshot: Snapshot, container: Container, nodes: NDArray[np.int64]) -> Scores:
        """``trunc(100 * (1 - sd))`` of the requested fractions, 50..100; 0 for best effort."""
        if self.skips(snapshot, container):
            return np.zeros(len(nodes), dtype=np.int64)
        if not self.resources:
            raise ScoreError("balanced_allocation has no resource to score by: resources is empty")
        parts = list(self.explain(snapshot, container, nodes).values())
        fractions = np.array(parts).reshape(len(parts), len(nodes))
        return np.trunc((1.0 - _deviation(fractions)) * 100.0).astype(np.int64)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: NDArray[np.int64]
    ) -> dict[str, NDArray[np.float64]]:
        """Requested fraction per resource, at most 1."""
        fractions = {}
        for share in shares(snapshot, container, nodes, self.resources, nonzero=False):
            fraction = share.requested / np.maximum(share.allocatable, 1)
            fractions[share.name] = np.where(share.counted, np.minimum(fraction, 1.0), np.nan)
        return fractions


def _deviation(fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Population deviation over the resources that count; half the distance where two do.

    The two forms are equal in exact arithmetic; upstream takes the short one, and its last bit
    decides where truncation falls.
    """
    counted = ~np.isnan(fractions)
    number = counted.sum(axis=0)
    values = np.where(counted, fractions, 0.0)
    mean = np.divide(values.sum(axis=0), number, out=np.zeros(number.shape), where=number > 0)
    squares = np.where(counted, np.square(values - mean), 0.0).sum(axis=0)
    general = np.sqrt(squares / np.maximum(number, 1))
    high = np.where(counted, fractions, -np.inf).max(axis=0, initial=-np.inf)
    low = np.where(counted, fractions, np.inf).min(axis=0, initial=np.inf)
    pair = np.where(number == 2, (high - low) / 2, 0.0)
    return np.where(number == 2, pair, np.where(number > 2, general, 0.0))
