"""Baselines: bin packing, a node at random, and the node that production chose."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.analysis.metrics.load import idle_share
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.base.units import BYTES_PER_MIB
from tracekit.cluster.constraints.constraint import CellChoice
from tracekit.cluster.resources import CPU, amount_text
from tracekit.policy.placement import (
    Batch,
    BatchPolicy,
    Formula,
    PlacementPolicy,
    Reads,
    Scores,
    UsedBy,
    quotient,
)
from tracekit.policy.view.snapshot import Container, Snapshot, Tie, fits

# Scores by the cpu and memory left on a node after placing; 0 for a resource that the node lacks.
# The sum of millicores and MiB mixes units, as AccaSim's Best_Fit does, so that its choices can be
# compared one by one. The sum of fractions of the node's size has no unit.

Leftover = Annotated[
    Literal["amount", "fraction"],
    About(
        "The sum of free amounts: amount adds free millicores and MiB; fraction adds the free"
        " fractions of cpu and memory after placing."
    ),
]

#: Weights of cpu and memory. Amounts are millicores plus MiB, in units of 2**-20, exact.
_WEIGHTS = {
    "amount": (("cpu", BYTES_PER_MIB), ("memory", 1)),
    "fraction": (("cpu", 1), ("memory", 1)),
}


def amount_left(size: Any, wanted: Any) -> Any:
    """Return the amount of a resource that is left after placing."""
    return size - wanted


def minus_amount_left(size: Any, wanted: Any) -> Any:
    """Return minus the amount of a resource that is left."""
    return -amount_left(size, wanted)


def fraction_left(size: Any, wanted: Any) -> Any:
    """Return the fraction of a resource that is left."""
    return (size - wanted) / size


def minus_fraction_left(size: Any, wanted: Any) -> Any:
    """Return minus the fraction of a resource that is left."""
    return -fraction_left(size, wanted)


def _formula_of(leftover: str, better: Literal["emptier", "fuller"]) -> Formula:
    """A formula that rises, or falls with ``fuller``, with the cpu and memory that are left."""
    most = (amount_left, minus_amount_left), (fraction_left, minus_fraction_left)
    part = most[leftover == "fraction"][better == "fuller"]
    return Formula(part=part, resources=_WEIGHTS[leftover], better=better)


@dataclass(frozen=True, kw_only=True)
class FirstFit(PlacementPolicy):
    """Fill one node after another, in the order of the workload."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "first-fit bin packing; FF of the CTM21 analysis (Yao et al. 2023)"

    def score(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        container: Container,  # noqa: ARG002
        nodes: IntArray,
    ) -> Scores:
        """Return minus the position of each node."""
        return -nodes


@dataclass(frozen=True, kw_only=True)
class FirstFitDecreasing(BatchPolicy, FirstFit):
    """Place the containers of a sampling step on the first node with room, the largest first.

    A scheduler decides container by container and cannot do this, as it does not know the following
    containers. The policy is a yardstick for a simple rule that knows them, and is never
    recommended.
    """

    common: ClassVar[bool] = False
    source: ClassVar[str] = (
        "first-fit decreasing bin packing (Johnson, 1973); size: the largest share of a mean node"
    )
    used_by: ClassVar[UsedBy] = "yardstick"

    batch_size: Annotated[
        int, About("Containers sorted at once; a batch ends with the sampling step.", minimum=1)
    ] = 1_000_000

    def select(self, snapshot: Snapshot, batch: Batch, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the node of each container; -1 if no node has room.

        Containers of equal size are placed in the order of arrival.
        """
        requested = snapshot.requested.copy()
        seen = dataclasses.replace(snapshot, requested=requested)
        chosen = np.full(len(batch.containers), -1, dtype=np.int64)
        for at in np.argsort(-_sizes(snapshot, batch), kind="stable").tolist():
            room = fits(seen, batch.containers[at])
            if batch.open_nodes is not None:
                room &= batch.open_nodes[at]
            if room.any():
                chosen[at] = int(np.argmax(room))
                requested[chosen[at]] += batch.containers[at].request
        return chosen


def _sizes(snapshot: Snapshot, batch: Batch) -> FloatArray:
    """Each container's largest request as a share of a mean node, shape (containers,)."""
    requests = np.stack([one.request for one in batch.containers]).astype(np.float64)
    mean = np.maximum(snapshot.allocatable.astype(np.float64).mean(axis=0), 1.0)
    sizes: FloatArray = (requests / mean).max(axis=1)
    return sizes


@dataclass(frozen=True, kw_only=True)
class _ByLeftover(PlacementPolicy):
    """Base of the policies whose score is what a node has left."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})

    leftover: Leftover = "amount"

    def shown_score(self, score: float) -> float | str:
        """Return a score in millicores and MiB, or as a fraction."""
        amount = self.leftover == "amount"
        return f"{score / BYTES_PER_MIB:,.6g} millicores and MiB" if amount else score


@dataclass(frozen=True, kw_only=True)
class BestFit(_ByLeftover):
    """Fill the fullest node with room, so that other nodes stay empty."""

    common: ClassVar[bool] = True
    source: ClassVar[str] = (
        "best-fit bin packing; leftover=amount chooses as AccaSim 1.1.3 Best_Fit does"
    )

    def score_formula(self) -> Formula:
        """Return a formula: minus the cpu and memory that are left after placing."""
        return _formula_of(self.leftover, "fuller")


@dataclass(frozen=True, kw_only=True)
class WorstFit(_ByLeftover):
    """Fill the emptiest node, to spread requests."""

    source: ClassVar[str] = "worst-fit bin packing; the reverse of best_fit"

    def score_formula(self) -> Formula:
        """Return a formula: the cpu and memory that are left after placing."""
        return _formula_of(self.leftover, "emptier")


#: More millicores than any cell has; marks a cell without room.
_NONE = np.int64(2**62)


@dataclass(frozen=True, kw_only=True)
class BestFitCell(PlacementPolicy):
    """Fill the fullest NUMA cell with room, so that other cells stay whole.

    A container of one cell goes to the cell with the least cpu left. For a container of several
    cells, or of none, the whole node counts. Without cells it is best fit by cpu alone.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "cells"})
    source: ClassVar[str] = (
        "best-fit bin packing by cpu on the cells of a host, the baseline of topology-aware VM"
        " placement (dataset huawei_topology25)"
    )
    cell: ClassVar[CellChoice] = "tight"

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return minus the millicores left in the fullest cell with room, or on the whole node."""
        if container.numa_cells != 1 or snapshot.free_cells is None:
            free = snapshot.allocatable[nodes, 0] - snapshot.requested[nodes, 0]
            return np.asarray(container.request[0] - free)
        left = snapshot.free_cells[nodes] - container.request[:2]
        has_room = ((left >= 0) | (container.request[:2] <= 0)).all(axis=2)
        return np.asarray(-np.where(has_room, left[:, :, 0], _NONE).min(axis=1))

    def shown_score(self, score: float) -> float | str:
        """Return a score in cores."""
        return amount_text(score, CPU)


@dataclass(frozen=True, kw_only=True)
class LowestDebris(PlacementPolicy):
    """Prefer the node with the lowest debris rate after placing, which is the fullest node."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "FD of the CTM21 analysis (Yao et al. 2023), section 5, with the debris rate of its eq 2;"
        " with weights of 1, by the requests of the node itself"
    )

    def score_formula(self) -> Formula:
        """Return a formula: minus the debris rate, the mean idle share of cpu and memory, -1..0."""
        return Formula(
            part=idle_share,
            resources=(("cpu", 1), ("memory", 1)),
            total=_minus_mean,
            better="fuller",
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the debris rate, a mean idle share, after placing; 1 without cpu and memory."""
        return {"debris_after": -np.asarray(self.score(snapshot, container, nodes), np.float64)}


def _minus_mean(total: Any, weights: Any) -> Any:
    nothing = weights == 0
    return -((total + nothing) * (1.0 / (weights + nothing)))  # exact, as weights are 1 or 2


@dataclass(frozen=True, kw_only=True)
class Random(PlacementPolicy):
    """Choose a node with room at random: the yardstick that a policy has to beat."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "uniform choice by reservoir sampling, drawn from the replay's seed"
    used_by: ClassVar[UsedBy] = "yardstick"

    tie: Annotated[
        Tie, About("reservoir: a random node; first: the first node with room, as first_fit.")
    ] = "reservoir"

    def score_formula(self) -> Formula:
        """Return a formula without resources: every node scores 0, and the tie-break decides."""
        return Formula(part=quotient, resources=(), better="emptier")


@dataclass(frozen=True, kw_only=True)
class Observed(PlacementPolicy):
    """Place every container on its recorded node, even without room for its request."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"recorded"})
    source: ClassVar[str] = "the trace itself"
    title: ClassVar[str] = "production"
    filtered: ClassVar[bool] = False

    def score(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        container: Container,
        nodes: IntArray,
    ) -> Scores:
        """Return 1 for the recorded node, and 0 for every other node."""
        if container.recorded_node is None or container.recorded_node < 0:
            raise TracekitError(
                f"container '{container.id}' has no recorded node to be placed on",
                hint="leave out policy 'observed' for a workload without recorded placements",
            )
        return np.asarray(nodes == container.recorded_node, dtype=np.int64)
