"""Which kernel serves a policy: the one its formula makes, or the one written for it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from tracekit import registry
from tracekit.arrays import IntArray
from tracekit.replay.fast import kernels
from tracekit.replay.fast.kernels import Kernel
from tracekit.replay.fast.kernels._formula import formula_kernel
from tracekit.replay.fast.kernels._weighted import weighted_kernel
from tracekit.replay.placement import PlacementPolicy
from tracekit.replay.policy.profile import Profile


def find_kernel(
    policy: PlacementPolicy, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """The kernel of a policy on nodes of these sizes, None when there is none.

    One that states a formula has one made of that, a weighted profile of those of its parts. Of the
    others only that policy's file is imported, because importing a kernel compiles it.
    """
    if isinstance(policy, Profile):
        return weighted_kernel(policy, lambda part: find_kernel(part, resources, allocatable))
    formula = policy.score_formula()
    if formula is not None:
        if not policy.scores_by_formula():
            return None
        return formula_kernel(policy, formula, resources, allocatable)
    if policy.name() not in registry.module_names(kernels):
        return None
    module = importlib.import_module(f"{kernels.__name__}.{policy.name()}")
    found: Kernel | None = module.KERNEL.make(policy, resources, allocatable)
    return found
