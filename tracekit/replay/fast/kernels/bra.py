"""BRA, compiled: the form of the paper."""

from collections.abc import Sequence

from tracekit.base.arrays import IntArray
from tracekit.policy.placement.bra import ALIKE, Bra
from tracekit.replay.fast.kernels import Kernel
from tracekit.replay.fast.kernels._formula import formula_kernel


def make(policy: Bra, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    """The kernel of the formula; the forms in integers have none."""
    if policy.variant != "paper":
        return None
    return formula_kernel(policy, ALIKE, resources, allocatable)
