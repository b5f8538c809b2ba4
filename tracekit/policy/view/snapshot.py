"""A policy's view when it decides: the cluster now, and past measurements.

The future is not hidden here, it is absent: arrays hold what has been committed, and usage is
copied up to the metric time. Every array is read-only. What a policy did not declare in ``reads``
is not handed over either. A snapshot is valid until the engine commits the next decision.
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
from tracekit.cluster.nodes import NodeDomains
from tracekit.cluster.resources import column_of
from tracekit.policy.view.usage import NodeUsage

if TYPE_CHECKING:
    from tracekit.policy.view.pods import Pod, Pods
    from tracekit.policy.view.recorded import Recorded


class Peers:
    """Counts of the running containers of services.

    Parameters
    ----------
    services : sequence of str
        The service of each container.
    """

    def __init__(self, services: Sequence[str], nodes: int) -> None:
        self._services, self._nodes = services, nodes
        self._count: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def on_nodes(self, service: str) -> IntArray:
        """How many of a service run on every node, shape (nodes,)."""
        found = np.zeros(self._nodes, dtype=np.int64)
        count = self._count.get(service)
        if count:
            found[list(count.keys())] = list(count.values())
        return found

    def add(self, index: int, node: int) -> None:
        """A container has come to a node."""
        self._count[self._services[index]][node] += 1

    def remove(self, index: int, node: int) -> None:
        """A container has left its node."""
        self._count[self._services[index]][node] -= 1


T = TypeVar("T")


class ServiceNames(Sequence[str]):
    """Names of services by position, looked at when asked: most policies never do.

    Parameters
    ----------
    chosen : object, shape (some,)
        Not written to any more.
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
    """A container that waits for a node.

    Parameters
    ----------
    request, nonzero_request, limit : int64, shape (resources,)
        Amounts in the order of the snapshot's ``resources``. ``nonzero_request`` replaces a
        missing cpu or memory request by the scheduler's default; a limit of 0 is no limit.
    recorded_node : int, optional
        Where production ran it; None unless the policy reads 'recorded', -1 when unknown.
    pod : Pod, optional
        The pod container by container, in recorded cases; the replay's pods have one container,
        which the amounts describe fully.
    kind : int
        The number of its service in the snapshot's ``calls``; -1 unless the policy reads 'calls'.
    numa_cells : int
        Over how many NUMA cells of a node its request is divided, 0: it is bound to none; 0 unless
        the policy reads 'cells'.
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
    """Containers that run now, one row each, in order of their arrival.

    Parameters
    ----------
    node : int64, shape (placed,)
    time_ms : int64, shape (placed,)
        When each was placed.
    request, limit : int64, shape (placed, resources)
    service : sequence of str
    usage : float64, shape (placed, 2), optional
        Measured millicores and bytes of each container at the newest sample the policy may have,
        NaN where it was not measured yet; None unless a rebalance policy reads 'usage'.
    index : int64, shape (placed,)
        Position of each in the workload; empty in recorded cases.
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
    def stays(self) -> BoolArray:
        """Containers that no rebalancer can evict now, shape (placed,)."""
        known = [one for one in (self.daemon, self.barred) if one is not None]
        return np.asarray(np.logical_or.reduce([np.zeros(len(self.node), dtype=np.bool_), *known]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """The cluster at ``time_ms``.

    Parameters
    ----------
    resources : tuple of str
        Names of the resource columns: cpu_milli, memory_bytes, pods if limited, others.
    capacity, allocatable : int64, shape (nodes, resources)
    requested, nonzero_requested, limits : int64, shape (nodes, resources)
        Sums over the containers on each node.
    containers : int64, shape (nodes,)
        Number of containers on each node.
    recorded : Recorded, optional
        What a recorded case tells beyond the arrays; None in the replay.
    free_cells : int64, shape (nodes, cells, 2), optional
        cpu_milli and memory_bytes left of each NUMA cell; None where no container is bound to
        cells, and unless the policy reads 'cells'.
    known_peers : Peers, optional
        None unless the policy reads 'peers'.
    domains : NodeDomains, optional
        Rack, domain and zone of nodes; None where the workload states none.
    lost : bool, shape (nodes,), optional
        Nodes that are lost and take nothing; None where none ever is.
    pods : Pods, optional
        What is written of all containers of the workload and of its nodes; None where nothing is,
        or it is a placement policy that looks.
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
        """How many of each service run where; the policy must read 'peers'."""
        return _declared(self.known_peers, "peers")

    @property
    def calls(self) -> CallWeights:
        """The calls between services; the policy must read 'calls'."""
        return _declared(self.known_calls, "calls")

    @property
    def usage(self) -> NodeUsage:
        """Measured node usage up to the metric time; the policy must read 'usage'."""
        return _declared(self.known_usage, "usage")

    @property
    def placed(self) -> Placed:
        """The containers that run now; the policy must read 'placed'."""
        return _declared(self.known_placed, "placed")

    def column(self, resource: str) -> int | None:
        """The column of a resource, also under another name; None where no source records it."""
        return column_of(self.resources, resource)


def _declared(thing: T | None, name: str) -> T:
    if thing is None:
        raise TracekitError(
            f"the policy looked at '{name}' without declaring it",
            hint=f"add '{name}' to the policy's reads",
        )
    return thing


def read_only(array: IntArray) -> IntArray:
    """A view of the array that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


# Which nodes a container fits on, and from scores to one of them.

Tie = Annotated[
    Literal["first", "reservoir"],
    About("Which of equally good nodes: the first, or reservoir sampling by the seed."),
]

#: Float scores closer than this many decimals are equal.
DECIMALS = 12


def best(scores: IntArray | FloatArray, tie: Tie, rng: np.random.Generator) -> int:
    """Position of the highest score.

    Parameters
    ----------
    scores : array, shape (feasible nodes,), not empty
    tie : {'first', 'reservoir'}
        The first of the highest, or one of them by reservoir sampling as kube-scheduler does:
        the i-th of equals replaces the choice with probability 1/i.
    """
    compared = np.round(scores, DECIMALS) if scores.dtype.kind == "f" else scores
    if tie == "first":
        return int(np.argmax(compared))
    equals = np.flatnonzero(compared == compared.max())
    if len(equals) == 1:
        return int(equals[0])  # nothing is drawn
    draws = rng.integers(np.arange(2, len(equals) + 1))
    replaced = np.flatnonzero(draws == 0)
    return int(equals[replaced[-1] + 1 if len(replaced) else 0])


# Which nodes a container fits on: requests against what is left, nothing else. Source:
# NodeResourcesFit of kubernetes v1.34. Real requests count, never the non-zero defaults; limits
# never matter; a container that requests nothing only needs a free place in ``pods``.

#: Of so few nodes all resources are compared at once.
_FEW = 64


def lacking(snapshot: Snapshot, container: Container, nodes: IntArray | None = None) -> BoolArray:
    """Whether nodes have too little left, shape (nodes, resources); of all or some."""
    chosen = slice(None) if nodes is None else nodes
    left = snapshot.allocatable[chosen] - snapshot.requested[chosen]
    return np.asarray((left < container.request) & (container.request > 0))


def fits(snapshot: Snapshot, container: Container, nodes: IntArray | None = None) -> BoolArray:
    """Which nodes have room for the container, shape (nodes,); of all nodes or of some."""
    if nodes is not None and len(nodes) <= _FEW:
        return np.asarray(~lacking(snapshot, container, nodes).any(axis=1))
    chosen = slice(None) if nodes is None else nodes
    room: BoolArray = np.ones(len(snapshot.allocatable[chosen]), dtype=np.bool_)
    for column in np.flatnonzero(container.request > 0):
        # resource by resource: so many rows are too short to be compared whole
        free = snapshot.allocatable[chosen, column] - snapshot.requested[chosen, column]
        room &= free >= container.request[column]
    return room
