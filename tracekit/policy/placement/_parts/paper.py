"""The paper's and the scheduler's forms of LRA and BRA, of cpu and memory.

Requests are as stated, without the scheduler's defaults for what is missing; those are in
``least_requested``, ``least_allocated`` and ``balanced_allocation``.
"""

from typing import Annotated, Any, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement._parts.balance import balance, legacy_balance
from tracekit.policy.placement._parts.formula import Formula
from tracekit.policy.view.snapshot import Container, Snapshot

Variant = Annotated[
    Literal["paper", "legacy_int", "modern_int"],
    About("paper: real numbers 0..10; legacy_int, modern_int: cut to integers, 0..10, 0..100."),
]

MAX_SCORE = {"legacy_int": 10, "modern_int": 100}


def wanted_and_total(
    snapshot: Snapshot, container: Container, nodes: IntArray
) -> tuple[IntArray, IntArray]:
    """Requests with the container, and the nodes' totals, each of shape (2, candidates)."""
    wanted = snapshot.requested[nodes, :2] + container.request[:2]
    return wanted.T, snapshot.allocatable[nodes, :2].T


def paper_balance(wanted: IntArray, total: IntArray) -> FloatArray:
    """``10 - 10 |N_cpu/T_cpu - N_memory/T_memory|``; 0 where a node has none of either."""
    return np.where((total > 0).all(axis=0), ALIKE.value(np.maximum(total, 1), wanted), 0.0)


def _share(size: Any, wanted: Any) -> Any:
    return wanted / size


def _of_ten(apart: Any, weights: Any) -> Any:  # noqa: ARG001
    return 10.0 - 10.0 * np.abs(apart)


#: ``paper_balance`` of nodes that have something of both.
ALIKE = Formula(part=_share, resources=(("cpu", 1), ("memory", -1)), total=_of_ten, better="alike")


def integer_balance(wanted: IntArray, total: IntArray, variant: Variant) -> IntArray:
    """The scheduler's balance of two fractions, old (0..10) or new (0..100)."""
    fractions = wanted / np.maximum(total, 1)
    if variant == "modern_int":
        return balance(np.where(total > 0, np.minimum(fractions, 1.0), np.nan))
    cpu, memory = np.where(total > 0, fractions, 1.0)
    return legacy_balance(cpu, memory, np.full(cpu.shape, np.nan), MAX_SCORE[variant])
