"""Lower bounds on the nodes, and on their cost, with which a policy can keep limits."""

import dataclasses
import functools

import numpy as np

from tracekit.answer.admissible import WAITING
from tracekit.answer.fewest.limits import ABOVE, CPU, Limits
from tracekit.base.words import RESOURCES
from tracekit.cluster.changed.on_nodes import beside_daemons, room_beside_daemons
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.replay.bounds.demand import (
    bound_after_losses,
    cost_bound,
    demand_bound,
    load_bound,
    mean_bound,
    over_time_bound,
)
from tracekit.replay.bounds.measures import nodes_bound
from tracekit.replay.bounds.nodes import volume_bound
from tracekit.replay.measures import OVERLOAD
from tracekit.replay.measures.use import PERCENT

#: So many nodes are the fewest of which the 99th percentile leaves one out.
FROM_WHICH_ONE_IS_LEFT_OUT = 100 // (100 - PERCENT)


def least_nodes(load: Workload, policy: Entrant, limits: Limits) -> int | None:
    """A lower bound on nodes for any placement within the limits; None where none is proven.

    By requests for a policy that respects them, by use as far as limits cap it, on what the daemons
    of each node leave of it.
    """
    name = str(policy)
    if not limits.nobody_waits(name):
        return _least_but_some(load, policy, limits.most(name, WAITING[0]))
    stays, most = beside_daemons(load), most_use(load, limits, name)
    found, asks = [1], keeps_requests(load, policy)
    if asks:
        found.append(nodes_by_requests(load))
    by_use = _by_use(stays, filtered=policy.filtered and _free(stays))
    if np.isfinite(most).any():
        found.append(demand_bound(by_use, most))
    cpu, memory = (limits.most(name, f"{one}_p99_fraction") for one in RESOURCES)
    if np.isfinite((cpu, memory)).any():
        # of fewer than 100 nodes the 99th percentile is the highest; of more one may be as full
        # as it likes, and could carry all else
        nearly = cpu, memory
        needed = max(demand_bound(by_use, nearly), load_bound(load, nearly, requests=False))
        found.append(min(needed, FROM_WHICH_ONE_IS_LEFT_OUT))
    cpu, memory = (limits.most(name, f"{one}_mean_fraction") for one in RESOURCES)
    found.append(mean_bound(load, (cpu, memory)))
    if not _moves(load, policy):
        found.append(over_time_bound(load, limits.most(name, CPU)))
    found.append(load_bound(load, most, requests=asks))
    if load.nodes.losses is not None and len(load.nodes.losses.node):
        # those that are lost count too, and what is there afterwards is on others
        found.append(len(load.nodes.losses.node) + bound_after_losses(load, most, requests=asks))
    return min(max(found), load.nodes.count)


@functools.lru_cache(maxsize=1)
def nodes_by_requests(load: Workload) -> int:
    """A lower bound on nodes for who respects requests, whatever the limits; of daemons none."""
    return nodes_bound(beside_daemons(load))


def most_use(load: Workload, limits: Limits, policy: str) -> tuple[float, float]:
    """The share of a node's capacity that use may reach at judged steps: cpu, memory.

    Infinite where no limit says so.
    """
    never = 1.0 if limits.most(policy, OVERLOAD) < 1 else float("inf")
    cpu, memory = (min(never, limits.most(policy, f"{one}_max_fraction")) for one in RESOURCES)
    if limits.most(policy, ABOVE) < 1:
        cpu = min(cpu, load.rules.ceiling.cpu_fraction)
        memory = min(memory, load.rules.ceiling.memory_fraction)
    return cpu, memory


def _moves(load: Workload, policy: Entrant) -> bool:
    """Whether a container may leave its node before it departs."""
    away = (load.nodes.losses, load.nodes.leaves)
    return (
        policy.rebalance is not None
        or bool(load.rules.preemption)
        or any(one is not None for one in away)
    )


def _least_but_some(load: Workload, policy: Entrant, most: float) -> int | None:
    """A lower bound where up to ``most`` containers are never placed; None where none is proven.

    At the end no others wait, unless something was evicted. So all but that many are placed then,
    and what they request is at least the sum without the largest of each resource.
    """
    if _moves(load, policy) or not np.isfinite(most) or not keeps_requests(load, policy):
        return None
    end = int(load.use.times_ms[-1]) + load.use.step_ms - 1
    there = (load.containers.arrival_ms <= end) & (end < load.containers.departure_ms)
    if load.rules.daemon is not None:
        there &= ~load.rules.daemon
    asked = np.sort(load.containers.request[there], axis=0)
    placed = asked[: max(len(asked) - int(most), 0)]
    return max(volume_bound(placed, room_beside_daemons(load)), 1)


def least_cost(load: Workload, policy: Entrant, limits: Limits) -> float | None:
    """A lower bound on what nodes cost per hour that carry all load, in part too; None as above.

    None, too, where a node has no price.
    """
    if load.nodes.prices is None or not limits.nobody_waits(str(policy)):
        return None
    most = most_use(load, limits, str(policy))
    return cost_bound(load, most, requests=keeps_requests(load, policy))


def keeps_requests(load: Workload, policy: Entrant) -> bool:
    """Whether no node ever has more requested than it has, daemons aside.

    A daemon comes to its node whether or not there is room. All other containers need room beside
    those that are there, so without daemons never more is requested of a node than it has.
    """
    return policy.filtered and _free(beside_daemons(load))


def _free(stays: Workload) -> bool:
    """Whether no container but daemons is pinned, of a workload beside its daemons."""
    return stays.rules.pinned is None or not (stays.rules.pinned >= 0).any()


def _by_use(load: Workload, *, filtered: bool) -> Workload:
    """The workload with requests of further resources only if they are respected."""
    if filtered or len(load.resources) == 2:
        return load
    request = load.containers.request.copy()
    request[:, 2:] = 0
    return dataclasses.replace(
        load, containers=dataclasses.replace(load.containers, request=request)
    )
