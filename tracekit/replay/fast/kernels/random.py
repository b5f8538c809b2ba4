"""Random, compiled: every node is as good, the tie-break decides."""

from collections.abc import Sequence

from tracekit.arrays import IntArray
from tracekit.replay.fast.kernels import Kernel
from tracekit.replay.fast.kernels._formula import formula_kernel
from tracekit.replay.placement import Formula, quotient
from tracekit.replay.placement.random import Random

#: No resource counts, and every node scores 0.
_NOTHING = Formula(part=quotient, resources=(), better="emptier")


def make(policy: Random, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    """The kernel, for clusters of any kind."""
    return formula_kernel(policy, _NOTHING, resources, allocatable)
