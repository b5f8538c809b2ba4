"""The choice of the fast engine: the quickest exact way that a policy and a replay allow."""

import numpy as np

from tracekit.replay.engine.placer import Clock, MakePlacer, Placer, PlainPlacer
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.fast.rows import RowsPlacer
from tracekit.replay.workload.workload import Workload

#: Compiling takes some 40 s of a processor, once. Compiled code then saves some 50 us a decision,
#: and 25 ns more for each node: it is taken where that comes to some 4 s in one replay.
_SAVED_ON_NO_NODES = 2_000
_WORTH_COMPILING = 160_000_000


def suited_placer(load: Workload) -> MakePlacer:
    """The placer for a workload: compiled where that pays; all placers decide the same."""
    pays = load.containers * (_SAVED_ON_NO_NODES + load.nodes) >= _WORTH_COMPILING
    return fast_placer if pays else rows_placer


def fast_placer(
    state: ReplayState, rng: np.random.Generator, clock: Clock, *, search: bool = True
) -> Placer:
    """Compiled where the policy has a kernel, with search where the kernel has a bound; else rows.

    Without ``search`` every node is scored at every decision.
    """
    from tracekit.replay.fast.compiled_placer import (  # noqa: PLC0415 - numba is slow
        CompiledPlacer,
        find_kernel,
    )
    from tracekit.replay.fast.sampling import CompiledSampler  # noqa: PLC0415 - same

    state.samples.sampler = CompiledSampler(state.workload)
    policy, load = state.policy, state.workload
    kernel = None
    if "calls" not in policy.reads:
        kernel = find_kernel(policy, load.resources, load.allocatable)
    if kernel is None:
        return rows_placer(state, rng, clock)
    return CompiledPlacer(state, rng, clock, kernel, search=search)


def rows_placer(state: ReplayState, rng: np.random.Generator, clock: Clock) -> Placer:
    """Rows of scores without compiled code.

    A policy that takes nodes without room, or decides batch by batch, goes the plain way.
    """
    plain = not state.policy.filtered or state.policy.batched
    return (PlainPlacer if plain else RowsPlacer)(state, rng, clock)
