"""Lower bounds on the nodes, and on their cost, with which a policy can keep limits."""

import dataclasses
import functools

import numpy as np

from tracekit.answer.admissible import WAITING
from tracekit.answer.fewest.limits import ABOVE, CPU, Limits
from tracekit.base.words import RESOURCES
from tracekit.cluster.on_nodes import beside_daemons, room_beside_daemons
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.replay.bounds import volume_bound
from tracekit.replay.bounds.demand import (
    bound_after_losses,
    cost_bound,
    demand_bound,
    load_bound,
    mean_bound,
    over_time_bound,
)
from tracekit.replay.bounds.measures import nodes_bound
from tracekit.replay.measures import OVERLOAD
from tracekit.replay.measures.use import PERCENT

#: The fewest nodes whose 99th percentile leaves one node out.
FROM_WHICH_ONE_IS_LEFT_OUT = 100 // (100 - PERCENT)


def least_nodes(load: Workload, policy: Entrant, limits: Limits) -> int | None:
    """Return a lower bound on nodes for any placement within the limits; None if none is proven.

    Requests give a bound if the policy respects them, and use gives a bound if limits cap it.
    Daemons reduce the room on each node.
    """
    name = str(policy)
    if not limits.nobody_waits(name):
        return _least_but_some(load, policy, limits.most(name, WAITING[0]))
    undaemoned, most = beside_daemons(load), most_use(load, limits, name)
    bounds, by_request = [1], keeps_requests(load, policy)
    if by_request:
        bounds.append(nodes_by_requests(load))
    by_use = _by_use(undaemoned, filtered=policy.filtered and _free(undaemoned))
    if np.isfinite(most).any():
        bounds.append(demand_bound(by_use, most))
    cpu, memory = (limits.most(name, f"{one}_p99_fraction") for one in RESOURCES)
    if np.isfinite((cpu, memory)).any():
        # of fewer than 100 nodes the 99th percentile is the highest; of more one may be as full
        # as it likes, and could carry all else
        nearly = cpu, memory
        needed = max(demand_bound(by_use, nearly), load_bound(load, nearly, requests=False))
        bounds.append(min(needed, FROM_WHICH_ONE_IS_LEFT_OUT))
    cpu, memory = (limits.most(name, f"{one}_mean_fraction") for one in RESOURCES)
    bounds.append(mean_bound(load, (cpu, memory)))
    if not _moves(load, policy):
        bounds.append(over_time_bound(load, limits.most(name, CPU)))
    bounds.append(load_bound(load, most, requests=by_request))
    if load.nodes.losses is not None and len(load.nodes.losses.node):
        # those that are lost count too, and what is there afterwards is on others
        bounds.append(
            len(load.nodes.losses.node) + bound_after_losses(load, most, requests=by_request)
        )
    return min(max(bounds), load.nodes.count)


@functools.lru_cache(maxsize=1)
def nodes_by_requests(load: Workload) -> int:
    """Return a lower bound on nodes by requests alone; daemons do not count."""
    return nodes_bound(beside_daemons(load))


def most_use(load: Workload, limits: Limits, policy: str) -> tuple[float, float]:
    """Return the largest use of CPU and of memory that the limits allow, as shares of capacity.

    They hold for each node at each time step that measures count. A share is infinite where no
    limit caps it.
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
    """A lower bound where up to ``most`` containers may stay unplaced; None where none is proven.

    Without evictions all other containers are placed at the end. Their requests of a resource are
    at least the sum over all containers without the ``most`` largest.
    """
    if _moves(load, policy) or not np.isfinite(most) or not keeps_requests(load, policy):
        return None
    end = int(load.use.times_ms[-1]) + load.use.step_ms - 1
    present = (load.containers.arrival_ms <= end) & (end < load.containers.departure_ms)
    if load.rules.daemon is not None:
        present &= ~load.rules.daemon
    requests = np.sort(load.containers.request[present], axis=0)
    placed = requests[: max(len(requests) - int(most), 0)]
    return max(volume_bound(placed, room_beside_daemons(load)), 1)


def least_cost(load: Workload, policy: Entrant, limits: Limits) -> float | None:
    """Return a lower bound on the hourly cost of nodes for all containers.

    The bound may count a part of a node. None where containers may wait, or where a node has no
    price.
    """
    if load.nodes.prices is None or not limits.nobody_waits(str(policy)):
        return None
    most = most_use(load, limits, str(policy))
    return cost_bound(load, most, requests=keeps_requests(load, policy))


def keeps_requests(load: Workload, policy: Entrant) -> bool:
    """Return whether a policy never places requests beyond a node's capacity.

    Daemons do not count: each is placed on its node even if there is no room.
    """
    return policy.filtered and _free(beside_daemons(load))


def _free(load: Workload) -> bool:
    """Whether no container is pinned, in a workload without its daemons."""
    return load.rules.pinned is None or not (load.rules.pinned >= 0).any()


def _by_use(load: Workload, *, filtered: bool) -> Workload:
    """The workload; unless requests are respected, without requests beyond CPU and memory."""
    if filtered or len(load.resources) == 2:
        return load
    request = load.containers.request.copy()
    request[:, 2:] = 0
    return dataclasses.replace(
        load, containers=dataclasses.replace(load.containers, request=request)
    )
