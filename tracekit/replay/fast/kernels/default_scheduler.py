"""The default scheduler, compiled: its plugins, weighed, over a window of the nodes."""

import dataclasses
from collections.abc import Sequence

from tracekit.base.arrays import IntArray
from tracekit.policy.placement.default_scheduler import DefaultScheduler, nodes_to_find, plugins
from tracekit.policy.profile import Part
from tracekit.replay.fast.kernels import Kernel, balanced_allocation
from tracekit.replay.fast.kernels._formula import formula_kernel
from tracekit.replay.fast.kernels._weighted import weighted_sum


def make(
    policy: DefaultScheduler, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """The kernel where both plugins have one."""
    least, balanced = plugins(policy.balanced_allocation_form)
    one = formula_kernel(least, least.score_formula(), resources, allocatable)
    other = balanced_allocation.make(balanced, resources, allocatable)
    if one is None or other is None:
        return None
    weighed = (
        (policy.least_allocated_weight, least, one),
        (policy.balanced_allocation_weight, balanced, other),
    )
    return dataclasses.replace(
        weighted_sum([(Part(weight, plugin), made) for weight, plugin, made in weighed if weight]),
        window=nodes_to_find(len(allocatable), policy.percentage_of_nodes_to_score),
    )
