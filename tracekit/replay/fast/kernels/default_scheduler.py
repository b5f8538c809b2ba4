"""The default scheduler, compiled: least and balanced allocation over a window of the nodes."""

# ruff: noqa: ARG001 - kernels share one signature

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.fast.kernels import Kernel, KernelSource, score_pointer
from tracekit.replay.fast.kernels._parts import exact_in_doubles, inside
from tracekit.replay.placement import quotient
from tracekit.replay.placement._parts.balance import pair_balance, requested_share
from tracekit.replay.placement._parts.window import nodes_to_find
from tracekit.replay.placement.default_scheduler import DefaultScheduler
from tracekit.replay.placement.least_allocated import free_percent


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    balanced = parameters[1] if ask[1, 0] > 0 or ask[1, 1] > 0 else 0.0
    for at in range(count):
        free = 0.0
        for column in range(2):
            wanted = state[2, column, at] + ask[2, column]
            free += free_percent(state[0, column, at], wanted)
        cpu = requested_share(state[1, 0, at] + ask[1, 0], state[0, 0, at])
        memory = requested_share(state[1, 1, at] + ask[1, 1], state[0, 1, at])
        even = pair_balance(cpu, memory)
        scores[at] = parameters[0] * quotient(free, 2) + balanced * even


_SCORE = score_pointer(inside(_score))


def _make(
    policy: DefaultScheduler, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    if policy.balanced_allocation_form != "v1_22" or not exact_in_doubles(allocatable[:, :2]):
        return None
    weights = (policy.least_allocated_weight, policy.balanced_allocation_weight)
    return Kernel(
        score=_SCORE,
        parameters=np.array(weights, dtype=np.float64),
        window=nodes_to_find(len(allocatable), policy.percentage_of_nodes_to_score),
    )


KERNEL = KernelSource(make=_make)
