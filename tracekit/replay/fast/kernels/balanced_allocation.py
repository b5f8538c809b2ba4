"""Balanced allocation, compiled: of two resources, in the form of 1.22 to 1.35."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.policy.placement._parts.requested import of_pair
from tracekit.policy.placement.balanced_allocation import BalancedAllocation
from tracekit.replay.fast.kernels import Kernel
from tracekit.replay.fast.kernels._formula import formula_kernel
from tracekit.replay.fast.kernels._parts import weight_table


def make(
    policy: BalancedAllocation, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """The kernel of two resources that count for every container."""
    table = weight_table(policy.resources, resources, allocatable)
    if policy.form != "v1_22" or table is None or len(table) != 6 or table[2::3].any():
        return None
    names = [resources[at] for at in table[::3].astype(np.int64)]
    made = formula_kernel(policy, of_pair(*names), resources, allocatable)
    columns = tuple(table[::3].astype(np.int64).tolist())
    # the scores are whole numbers, and nothing asked of either is nothing to say
    return made and dataclasses.replace(made, floats=False, silent=columns)
