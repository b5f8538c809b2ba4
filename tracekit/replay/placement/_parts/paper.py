"""The paper's and the scheduler's forms of LRA and BRA, of cpu and memory.

Requests are as stated, without the scheduler's defaults for what is missing; those are in
``least_requested``, ``least_allocated`` and ``balanced_allocation``.
"""

from typing import Annotated, Any, Literal

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About
from tracekit.replay.placement._parts.balance import balance, legacy_balance
from tracekit.replay.view.snapshot import Container, Snapshot

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
    cpu, memory = wanted / np.maximum(total, 1)
    return np.where((total > 0).all(axis=0), of_ten(np.abs(cpu - memory)), 0.0)


def of_ten(apart: Any) -> Any:
    """``10 - 10 apart``, for arrays and, compiled, for numbers."""
    return 10.0 - 10.0 * apart


def integer_balance(wanted: IntArray, total: IntArray, variant: Variant) -> IntArray:
    """The scheduler's balance of two fractions, old (0..10) or new (0..100)."""
    fractions = wanted / np.maximum(total, 1)
    if variant == "modern_int":
        return balance(np.where(total > 0, np.minimum(fractions, 1.0), np.nan))
    cpu, memory = np.where(total > 0, fractions, 1.0)
    return legacy_balance(cpu, memory, np.full(cpu.shape, np.nan), MAX_SCORE[variant])
