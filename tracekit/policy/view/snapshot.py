"""The view of a policy when it decides: the cluster now, and past measurements.

A snapshot holds no data of the future: its arrays have committed decisions, and measurements up to
the metric time. Every array is read-only. Data that a policy does not declare in ``reads`` is
absent. A snapshot is valid until the engine commits the next decision.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.cluster.calls import CallWeights
from tracekit.cluster.parts import NodeDomains
from tracekit.cluster.resources import column_of
from tracekit.policy.view.usage import NodeUsage

if TYPE_CHECKING:
    from tracekit.policy.view.pods import Pod, Pods
    from tracekit.policy.view.recorded import Recorded


class Peers:
    """Counts of each service's running containers on each node; the engine updates it.

    Parameters
    ----------
    services : sequence of str
        The service of each container.
    """

    def __init__(self, services: Sequence[str], nodes: int) -> None:
        self._services, self._nodes = services, nodes
        self._count: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def on_nodes(self, service: str) -> IntArray:
        """Return the number of a service's running containers on each node, shape (nodes,)."""
        running = np.zeros(self._nodes, dtype=np.int64)
        count = self._count.get(service)
        if count:
            running[list(count.keys())] = list(count.values())
        return running

    def add(self, index: int, node: int) -> None:
        """Count the container at position ``index`` of the workload on a node."""
        self._count[self._services[index]][node] += 1

    def remove(self, index: int, node: int) -> None:
        """Stop counting the container at position ``index`` of the workload on its node."""
        self._count[self._services[index]][node] -= 1


T = TypeVar("T")


class ServiceNames(Sequence[str]):
    """A sequence of service names, converted to ``str`` only when read, as most policies read none.

    Parameters
    ----------
    chosen : object, shape (some,)
        The names; the caller no longer changes them.
    """

    def __init__(self, chosen: NDArray[np.object_]) -> None:
        self._chosen = chosen

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...

    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        chosen = self._chosen[at]
        return tuple(chosen) if isinstance(at, slice) else str(chosen)


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    """A container that waits for a node, as a policy sees it.

    Parameters
    ----------
    request, nonzero_request, limit : int64, shape (resources,)
        Amounts in the order of the snapshot's ``resources``. ``nonzero_request`` has the
        scheduler's default in place of a missing cpu or memory request; a limit of 0 is no limit.
    recorded_node : int, optional
        The node in production, -1 for an unknown node; None unless the policy reads 'recorded'.
    pod : Pod, optional
        The pod of a recorded case. None in a replay, where a pod is one container and the amounts
        say all.
    kind : int
        The number of the service in the snapshot's ``calls``; -1 unless the policy reads 'calls'.
    numa_cells : int
        The number of NUMA cells over which the request is divided, 0 for a container that is not
        bound to cells; always 0 unless the policy reads 'cells'.
    """

    id: str
    service: str
    request: IntArray
    nonzero_request: IntArray
    limit: IntArray
    recorded_node: int | None = None
    pod: Pod | None = None
    kind: int = -1
    numa_cells: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """Running containers, one row for each, in the order of their arrival.

    Parameters
    ----------
    node : int64, shape (placed,)
    time_ms : int64, shape (placed,)
        The time of placement.
    request, limit : int64, shape (placed, resources)
    service : sequence of str
    usage : float64, shape (placed, 2), optional
        Measured millicores and bytes of each container at the newest sample that the policy may
        read, NaN before its first sample; None unless a rebalance policy reads 'usage'.
    index : int64, shape (placed,)
        The position of each container in the workload; empty in recorded cases.
    daemon : bool, shape (placed,), optional
        Containers that belong to their node and are never evicted. None: the workload has no
        such container, or the reader is a placement policy.
    barred : bool, shape (placed,), optional
        Containers whose budgets of disruption allow no eviction now. None: the workload states no
        budget, or the reader is a placement policy.
    priority : int64, shape (placed,), optional
        None: all containers have the same priority, or the reader is a placement policy.
    created_ms : int64, shape (placed,), optional
        When each container was created: its recorded time, or the time at which it was placed
        again after an eviction. None: the time at which it was placed.
    """

    node: IntArray
    time_ms: IntArray
    request: IntArray
    limit: IntArray
    service: Sequence[str]
    usage: FloatArray | None = None
    index: IntArray = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    daemon: BoolArray | None = None
    barred: BoolArray | None = None
    priority: IntArray | None = None
    created_ms: IntArray | None = None

    @property
    def unmovable(self) -> BoolArray:
        """Containers that no rebalancer can evict now, shape (placed,)."""
        masks = [one for one in (self.daemon, self.barred) if one is not None]
        return np.asarray(np.logical_or.reduce([np.zeros(len(self.node), dtype=np.bool_), *masks]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """What a policy sees of the cluster at ``time_ms``, in read-only arrays.

    Parameters
    ----------
    resources : tuple of str
        Names of the resource columns: cpu_milli, memory_bytes, pods if limited, and others.
    capacity, allocatable : int64, shape (nodes, resources)
    requested, nonzero_requested, limits : int64, shape (nodes, resources)
        Sums over the containers on each node.
    containers : int64, shape (nodes,)
        The number of containers on each node.
    known_usage, known_placed, known_calls, known_peers : optional
        The data of ``usage``, ``placed``, ``calls`` and ``peers``; None unless the policy reads it.
    recorded : Recorded, optional
        The further data of a recorded case; None in a replay.
    free_cells : int64, shape (nodes, cells, 2), optional
        cpu_milli and memory_bytes left in each NUMA cell; None if no container is bound to cells,
        or unless the policy reads 'cells'.
    domains : NodeDomains, optional
        Rack, domain and zone of nodes; None if the workload states none.
    lost : bool, shape (nodes,), optional
        Lost nodes, which take no container; None if no node is ever lost.
    pods : Pods, optional
        The recorded texts of all containers and nodes; None if the workload has none, or for a
        placement policy.
    """

    time_ms: int
    resources: tuple[str, ...]
    capacity: IntArray
    allocatable: IntArray
    requested: IntArray
    nonzero_requested: IntArray
    limits: IntArray
    containers: IntArray
    known_usage: NodeUsage | None = None
    known_placed: Placed | None = None
    recorded: Recorded | None = None
    known_calls: CallWeights | None = None
    free_cells: IntArray | None = None
    known_peers: Peers | None = None
    domains: NodeDomains | None = None
    lost: BoolArray | None = None
    pods: Pods | None = None

    @property
    def peers(self) -> Peers:
        """The running containers of each service by node; the policy must read 'peers'."""
        return _declared(self.known_peers, "peers")

    @property
    def calls(self) -> CallWeights:
        """The calls between services; the policy must read 'calls'."""
        return _declared(self.known_calls, "calls")

    @property
    def usage(self) -> NodeUsage:
        """Measured use of nodes up to the policy's metric time.

        A policy that uses it lists 'usage' in its ``reads``.
        """
        return _declared(self.known_usage, "usage")

    @property
    def placed(self) -> Placed:
        """The running containers; the policy must read 'placed'."""
        return _declared(self.known_placed, "placed")

    def column(self, resource: str) -> int | None:
        """Return the column of a resource by name or alias; None if the cluster lacks it."""
        return column_of(self.resources, resource)


def _declared(thing: T | None, name: str) -> T:
    if thing is None:
        raise TracekitError(
            f"the policy looked at '{name}' without declaring it",
            hint=f"add '{name}' to the policy's reads",
        )
    return thing


def read_only(array: IntArray) -> IntArray:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


# The choice of a node by scores, and the nodes on which a container fits.

Tie = Annotated[
    Literal["first", "reservoir"],
    About("The choice among equal scores: the first node, or a random one by the seed."),
]

#: Float scores that agree to this many decimals are equal.
DECIMALS = 12


def best(scores: IntArray | FloatArray, tie: Tie, rng: np.random.Generator) -> int:
    """Return the position of the highest score.

    Parameters
    ----------
    scores : array, shape (feasible nodes,), not empty
    tie : {'first', 'reservoir'}
        The first of equal scores, or one of them by reservoir sampling, as in kube-scheduler: the
        i-th of equal scores replaces the choice with probability 1/i.
    """
    compared = np.round(scores, DECIMALS) if scores.dtype.kind == "f" else scores
    if tie == "first":
        return int(np.argmax(compared))
    equals = np.flatnonzero(compared == compared.max())
    if len(equals) == 1:
        return int(equals[0])  # without a random draw
    draws = rng.integers(np.arange(2, len(equals) + 1))
    replaced = np.flatnonzero(draws == 0)
    return int(equals[replaced[-1] + 1 if len(replaced) else 0])


# A container fits on a node if every request is at most the amount left. Source: NodeResourcesFit
# of kubernetes v1.34. Stated requests count, not the non-zero defaults, and limits do not count. A
# container without requests needs a free place in ``pods`` alone.

#: Up to this number of nodes all resources are compared at once.
_FEW = 64


def lacking(snapshot: Snapshot, container: Container, nodes: IntArray | None = None) -> BoolArray:
    """Return which requests exceed what ``nodes`` (None: all) have left, (nodes, resources)."""
    chosen = slice(None) if nodes is None else nodes
    left = snapshot.allocatable[chosen] - snapshot.requested[chosen]
    return np.asarray((left < container.request) & (container.request > 0))


def fits(snapshot: Snapshot, container: Container, nodes: IntArray | None = None) -> BoolArray:
    """Return which of ``nodes`` (None: all) have room for the container, shape (nodes,)."""
    if nodes is not None and len(nodes) <= _FEW:
        return np.asarray(~lacking(snapshot, container, nodes).any(axis=1))
    chosen = slice(None) if nodes is None else nodes
    room: BoolArray = np.ones(len(snapshot.allocatable[chosen]), dtype=np.bool_)
    for column in np.flatnonzero(container.request > 0):
        # resource by resource, as comparing many short rows is slow
        free = snapshot.allocatable[chosen, column] - snapshot.requested[chosen, column]
        room &= free >= container.request[column]
    return room
