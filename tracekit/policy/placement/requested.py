"""Scores by requested shares of cpu and memory: schedulers before 1.22, and the paper of TBESK."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement import Formula, PlacementPolicy, Reads, Scores, UsedBy, quotient
from tracekit.policy.placement._parts.requested import (
    MAX_SCORE,
    TenthsPolicy,
    Variant,
    balance,
    free_share,
    half_sum,
    legacy_balance,
)
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class LeastRequested(TenthsPolicy):
    """Spread requests by the integer mean of the free tenths of cpu and memory."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.17 pkg/scheduler/algorithm/priorities/least_requested.go"
        " (LeastRequestedPriority)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    aliases: ClassVar[tuple[str, ...]] = ("least_requested_legacy",)

    def score_formula(self) -> Formula:
        """Return a formula: the integer mean of the free shares of cpu and memory, 0..max_score."""
        return self.of_tenths(free_share, "emptier")


@dataclass(frozen=True, kw_only=True)
class MostRequested(TenthsPolicy):
    """Pack requests by the integer mean of the requested tenths of cpu and memory."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.17 pkg/scheduler/algorithm/priorities/most_requested.go"
        " (MostRequestedPriority)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    aliases: ClassVar[tuple[str, ...]] = ("most_requested_legacy",)

    def score_formula(self) -> Formula:
        """Return a formula: the mean of the requested shares of cpu and memory, 0..max_score."""
        return self.of_tenths(taken_share, "fuller")


def taken_share(size: Any, wanted: Any, constants: Any) -> Any:
    """Return the requested share of a resource, an integer 0..``constants[0]``; 0 if over-full."""
    return quotient(wanted * constants[0], size) * (wanted <= size)


_BOTH = (("cpu", 1), ("memory", 1))


@dataclass(frozen=True, kw_only=True)
class Lra(PlacementPolicy):
    """Spread requests by the mean free share of cpu and memory (least requested allocation)."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "TBESK (Geng & Wang 2023) eq 1"
    title: ClassVar[str] = "least requested allocation"

    variant: Variant = "paper"

    def score_formula(self) -> Formula:
        """Return a formula: the mean of the free shares of cpu and memory, by ``variant``."""
        if self.variant == "paper":
            return Formula(part=free_tenths, resources=_BOTH, total=_mean, better="emptier")
        most = MAX_SCORE[self.variant]
        return Formula(
            part=free_share, resources=_BOTH, total=half_sum, better="emptier", constants=(most,)
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the free share of each resource in tenths; 0 for a resource that a node lacks."""
        tenths = Formula(part=free_tenths, resources=_BOTH)
        parts = tenths.explain(snapshot, container, nodes)
        return {name: np.nan_to_num(part) for name, part in parts.items()}


def free_tenths(size: Any, wanted: Any) -> Any:
    """Return ``10 (size - wanted) / size``, the free share of a resource in tenths."""
    return 10.0 * (size - wanted) / size


def _mean(total: Any, weights: Any) -> Any:  # noqa: ARG001
    return total / 2


@dataclass(frozen=True, kw_only=True)
class Bra(PlacementPolicy):
    """Keep the requested fractions of cpu and memory close (balanced resource allocation)."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "TBESK (Geng & Wang 2023) eq 2"
    title: ClassVar[str] = "balanced resource allocation"

    variant: Variant = "paper"

    def skips(self, snapshot: Snapshot, container: Container) -> bool:  # noqa: ARG002
        """Return whether the newer scheduler skips the score, as the container requests nothing."""
        return self.variant == "modern_int" and not container.request[:2].any()

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return ``paper_balance``, or ``integer_balance`` for an integer variant."""
        wanted, total = wanted_and_total(snapshot, container, nodes)
        if self.variant == "paper":
            return paper_balance(wanted, total)
        return integer_balance(wanted, total, self.variant)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the requested fraction of each resource."""
        wanted, total = wanted_and_total(snapshot, container, nodes)
        cpu, memory = np.where(total > 0, wanted / np.maximum(total, 1), np.nan)
        return {"cpu": cpu, "memory": memory}


def wanted_and_total(
    snapshot: Snapshot, container: Container, nodes: IntArray
) -> tuple[IntArray, IntArray]:
    """Return requests with the container, and nodes' amounts, each of shape (2, candidates)."""
    wanted = snapshot.requested[nodes, :2] + container.request[:2]
    return wanted.T, snapshot.allocatable[nodes, :2].T


def paper_balance(wanted: IntArray, total: IntArray) -> FloatArray:
    """Return ``10 - 10 |N_cpu/T_cpu - N_memory/T_memory|``; 0 for a node without cpu or memory.

    N are the wanted and T the total amounts.
    """
    return np.where((total > 0).all(axis=0), ALIKE.value(np.maximum(total, 1), wanted), 0.0)


def _share(size: Any, wanted: Any) -> Any:
    return wanted / size


def _of_ten(apart: Any, weights: Any) -> Any:  # noqa: ARG001
    return 10.0 - 10.0 * np.abs(apart)


#: ``paper_balance`` for nodes with cpu and memory.
ALIKE = Formula(part=_share, resources=(("cpu", 1), ("memory", -1)), total=_of_ten, better="alike")


def integer_balance(wanted: IntArray, total: IntArray, variant: Variant) -> IntArray:
    """Return the balance of two fractions in old (0..10) or new (0..100) kube-schedulers."""
    fractions = wanted / np.maximum(total, 1)
    if variant == "modern_int":
        return balance(np.where(total > 0, np.minimum(fractions, 1.0), np.nan))
    cpu, memory = np.where(total > 0, fractions, 1.0)
    return legacy_balance(cpu, memory, np.full(cpu.shape, np.nan), MAX_SCORE[variant])
