"""A lower bound on the nodes on which a policy can keep limits."""

import dataclasses

import numpy as np

from tracekit.answer.fewest.search.limits import Limits
from tracekit.replay.bounds.demand import (
    bound_after_losses,
    cost_bound,
    demand_bound,
    load_bound,
    mean_bound,
)
from tracekit.replay.bounds.measures import bound_frame, bound_steps
from tracekit.replay.bounds.nodes import volume_bound
from tracekit.replay.engine.steps import step_schema, summarize
from tracekit.replay.measures.p99_fraction import PERCENT
from tracekit.replay.policy.entrant import Entrant, halves
from tracekit.replay.workload.changed.on_nodes import beside_daemons, room_beside_daemons
from tracekit.replay.workload.workload import Workload

#: So many nodes are the fewest of which the 99th percentile leaves one out.
FROM_WHICH_ONE_IS_LEFT_OUT = 100 // (100 - PERCENT)


def least_nodes(load: Workload, policy: Entrant, limits: Limits) -> int | None:
    """A lower bound on nodes for any placement within the limits; None where none is proven.

    By requests for a policy that respects them, by use as far as limits cap it, on what the daemons
    of each node leave of it.
    """
    if not limits.nobody_waits(str(policy)):
        return _least_but_some(load, policy, limits.most_never_placed(str(policy)))
    stays = beside_daemons(load)
    found = [1]
    free, asks = _free(stays), keeps_requests(load, policy)
    if asks:
        bound = summarize(bound_frame(bound_steps(stays), step_schema(stays)))["nodes_used_max"]
        found.append(int(bound or 0))
    most = limits.most_use(str(policy))
    by_use = _by_use(stays, filtered=policy.filtered and free)
    if np.isfinite(most).any():
        found.append(demand_bound(by_use, most))
    nearly = limits.nearly_all_use(str(policy))
    if np.isfinite(nearly).any():
        # of fewer than 100 nodes the 99th percentile is the highest; of more one may be as full
        # as it likes, and could carry all else
        needed = max(demand_bound(by_use, nearly), load_bound(load, nearly, requests=False))
        found.append(min(needed, FROM_WHICH_ONE_IS_LEFT_OUT))
    found.append(mean_bound(load, limits.mean_use(str(policy))))
    found.append(load_bound(load, most, requests=asks))
    if load.losses is not None and len(load.losses.node):
        # those that are lost count too, and what is there afterwards is on others
        found.append(len(load.losses.node) + bound_after_losses(load, most, requests=asks))
    return min(max(found), load.nodes)


def _least_but_some(load: Workload, policy: Entrant, most: float) -> int | None:
    """A lower bound where up to ``most`` containers are never placed; None where none is proven.

    At the end no others wait, unless something was evicted. So all but that many are placed then,
    and what they request is at least the sum without the largest of each resource.
    """
    evicts = halves(policy)[1] is not None or load.preemption or load.losses is not None
    if evicts or not np.isfinite(most) or not keeps_requests(load, policy):
        return None
    end = int(load.times_ms[-1]) + load.step_ms - 1
    there = (load.arrival_ms <= end) & (end < load.departure_ms)
    if load.daemon is not None:
        there &= ~load.daemon
    asked = np.sort(load.request[there], axis=0)
    placed = asked[: max(len(asked) - int(most), 0)]
    return max(volume_bound(placed, room_beside_daemons(load)), 1)


def least_cost(load: Workload, policy: Entrant, limits: Limits) -> float | None:
    """A lower bound on what nodes cost per hour that carry all load, in part too; None as above.

    None, too, where a node has no price.
    """
    if load.prices is None or not limits.nobody_waits(str(policy)):
        return None
    most = limits.most_use(str(policy))
    return cost_bound(load, most, requests=keeps_requests(load, policy))


def keeps_requests(load: Workload, policy: Entrant) -> bool:
    """Whether no node ever has more requested than it has, daemons aside.

    A daemon comes to its node whether or not there is room. All other containers need room beside
    those that are there, so without daemons never more is requested of a node than it has.
    """
    return policy.filtered and _free(beside_daemons(load))


def _free(stays: Workload) -> bool:
    """Whether no container but daemons is pinned, of a workload beside its daemons."""
    return stays.pinned is None or not (stays.pinned >= 0).any()


def _by_use(load: Workload, *, filtered: bool) -> Workload:
    """The workload with requests of further resources only if they are respected."""
    if filtered or len(load.resources) == 2:
        return load
    request = load.request.copy()
    request[:, 2:] = 0
    return dataclasses.replace(load, request=request)
