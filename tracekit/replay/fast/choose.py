"""The choice of the fast engine: the quickest exact way that a policy and a replay allow."""

import numpy as np

from tracekit.cluster.workload import Workload
from tracekit.replay.engine.placer import Clock, MakePlacer, Placer, PlainPlacer
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.fast.rows import RowsPlacer

#: Compiled code saves about so much of a processor at each decision, in seconds: 0.0001 of best_fit
#: on 130 nodes, 0.00035 of load_variation_risk_balancing on 500.
_SAVED_S = 0.0002

#: Compiling a policy's scores takes 1.5 to 5 s of a processor, and 12 more the loop that all
#: policies share, once on a machine: it is done where the replays of a policy save this much.
_WORTH_COMPILING_S = 5.0

#: Containers times nodes from which on an index saves a second of a replay. Compiling takes 20 s
#: more with it, once.
_WORTH_AN_INDEX = 200_000_000


def suited_placer(load: Workload, replays: int = 1) -> MakePlacer:
    """The placer for a workload: compiled where that pays; all placers decide the same.

    Parameters
    ----------
    replays : int
        How often the policy is replayed on such a workload, about.
    """
    if replays * load.containers * _SAVED_S < _WORTH_COMPILING_S:
        return rows_placer
    if load.containers * load.nodes < _WORTH_AN_INDEX:
        return scanning_placer
    return fast_placer


def fast_placer(
    state: ReplayState, rng: np.random.Generator, clock: Clock, *, search: bool = True
) -> Placer:
    """Compiled where the policy has a kernel, with search where the kernel has a bound; else rows.

    Without ``search`` every node is scored at every decision, see ``CompiledPlacer``.
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


def scanning_placer(state: ReplayState, rng: np.random.Generator, clock: Clock) -> Placer:
    """As ``fast_placer``, every node scored: soon compiled, and as quick on a small cluster."""
    return fast_placer(state, rng, clock, search=False)


def rows_placer(state: ReplayState, rng: np.random.Generator, clock: Clock) -> Placer:
    """Rows of scores without compiled code.

    A policy that takes nodes without room, or decides batch by batch, goes the plain way.
    """
    plain = not state.policy.filtered or state.policy.batched
    return (PlainPlacer if plain else RowsPlacer)(state, rng, clock)
