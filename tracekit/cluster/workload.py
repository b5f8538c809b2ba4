"""Workload: what a replay takes. Nodes, containers in order of arrival, and usage over time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.facts import Fact
from tracekit.cluster.budgets import Budgets
from tracekit.cluster.calls import CallWeights
from tracekit.cluster.checks import (
    all_sound,
    check_amounts,
    check_further,
    check_per_container,
    check_times,
    check_unique,
    check_usage,
)
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.written import Written
from tracekit.cluster.declared import Ceiling
from tracekit.cluster.doubt import SizeDoubt
from tracekit.cluster.nodes import Losses, NodeDomains
from tracekit.cluster.resources import BASE, NONZERO_DEFAULT

#: The service of a container of which none is known.
UNKNOWN = "?"

#: So many steps of usage are looked at together.
_STEPS_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Nodes and containers as arrays; checked when made.

    Parameters
    ----------
    times_ms : int64, shape (steps,)
        Sampling times, ``step_ms`` apart.
    resources : tuple of str
        Columns of ``capacity``, ``request`` and so on; the first two are cpu_milli, memory_bytes.
    node_ids : tuple of str
    capacity : int64, shape (nodes, resources)
    container_ids, services : tuple of str, in order of arrival
    recorded_node : int64, shape (containers,)
        Where production ran the container, -1 when not known.
    arrival_ms, departure_ms : int64, shape (containers,)
        A container runs at ``arrival_ms <= time < departure_ms`` once it has a node.
    request, nonzero_request, limit : int64, shape (containers, resources)
        ``nonzero_request`` replaces unstated cpu and memory; a limit of 0 is none.
    usage : float32, shape (2, steps, columns)
        Use of millicores and of bytes; counts only where the container is there, and is a number
        then. Read it through ``use_at``.
    usage_column : int64, shape (containers,), optional
        The column of ``usage`` that is each container's, so that another order of arrival needs no
        other matrix. None: its own position.
    use_recorded : bool, shape (2, columns), optional
        Columns of ``usage`` that are of a record; in others something stands in. None: all are.
    background : float32, shape (2, steps, nodes)
        Use of a node that no container of the workload explains.
    further_used : tuple of int
        Columns of ``resources`` beyond the first two whose use is recorded.
    further_usage : float32, shape (further_used, steps, columns), optional
        Use of each of them, by the columns of ``usage``; NaN where not known. What counts then, and
        of other resources: ``tracekit.policy.view.further``. None: of none is it recorded.
    exchangeable : bool, shape (containers,), optional
        Containers that may take each other's times of arrival, because nothing but an assumption
        gave each its own; their usage is known from the first step on. None: none of them.
    gang : int64, shape (containers,), optional
        Containers of one gang run all or none; -1 is no gang. Best they arrive at one time, next
        to each other: until the last is there that is needed, the others wait. None: there are no
        gangs. See ``tracekit.cluster.gangs``.
    gang_minimum : int64, shape (containers,), optional
        How many of the container's gang are enough, the same for each of the gang; those beyond may
        wait. 0, or None for all: none is stated, and those that are left of the gang are needed.
    constraints : Constraints, optional
        Who may share a node with whom, and run where at all; None: all anywhere.
    pinned : int64, shape (containers,), optional
        The node that a container gets at its arrival without a policy being asked, whether or not
        there is room; -1: a policy decides. None: a policy always does.
    daemon : bool, shape (containers,), optional
        Containers that belong to their node: no rebalancer evicts them. None: there are none.
    priority : int64, shape (containers,), optional
        Of those that wait the larger goes first, then who has waited longest. None: all have the
        same.
    evicts_nobody : bool, shape (containers,), optional
        Who waits where others would evict. None: nobody does.
    never_evicted : bool, shape (containers,), optional
        Who says that nobody may evict it to take its node away. None: nobody does.
    budgets : Budgets, optional
        Who is under which budget of disruption. None: nobody is.
    written : Written, optional
        What is written of containers and nodes for a descheduler to read. None: nothing is.
    preemption : bool, optional
        True: who fits nowhere evicts containers of lower priority. None: nobody is evicted for it.
    gang_wait_ms : int
        How long a gang holds nodes while at most a tenth of its members finds none; 0: not at all.
    gang_backoff_ms : int
        How long a gang that could not begin is not tried again.
    losses : Losses, optional
        Nodes that are lost, or leave; what runs there is evicted. None: none is.
    joins : Losses, optional
        Nodes that come later, with when; they take nothing before. None: all are there.
    leaves, returns : Losses, optional
        Nodes that leave for a while, and when they come back; what runs there is evicted, as from
        those in ``losses``, which is given then. None: none does.
    domains : NodeDomains, optional
        Rack, domain and zone of nodes. None: not known.
    reserved : int64, shape (nodes, resources), optional
        What of the capacity is kept for what runs outside of containers: who goes by requests has
        the rest. None: nothing is. See ``tracekit.cluster.reserved``.
    stays : bool, shape (nodes,), optional
        Nodes that nobody gives back: those of the control plane. None: there are none.
    cordoned : bool, shape (nodes,), optional
        Nodes that take nothing new at the end of the record. None: there are none.
    price_per_hour : float64, shape (nodes,), optional
        What each node costs; NaN where not known. None: of none.
    instance_types : tuple of str, optional
        The instance type of each node, empty where not known. None: of none.
    currency : str
        That of the prices; empty where nobody said it.
    calls : CallWeights, optional
        Who calls whom. None: not known, or no policy asks.
    doubt : SizeDoubt, optional
        How far inferred sizes may be off; other orders of arrival draw them too. None: no size is
        inferred.
    ceiling : Ceiling
        How full a node may be before it counts as full.
    settled_ms : int
        Averages are over the samples from here on; before it the cluster is being filled.
    assumptions, facts : mapping
        Named assumptions with values; counts worth knowing about how the workload was made.
    quantities : mapping
        What it rests on: for each quantity ``recorded``, ``inferred``, ``assumed`` or ``absent``.
    remarks : tuple of Fact
        What a reader must know of its source before the numbers.
    """

    name: str
    step_ms: int
    times_ms: IntArray
    node_ids: tuple[str, ...]
    capacity: IntArray
    container_ids: tuple[str, ...]
    services: tuple[str, ...]
    recorded_node: IntArray
    arrival_ms: IntArray
    departure_ms: IntArray
    request: IntArray
    nonzero_request: IntArray
    limit: IntArray
    usage: Float32Array
    background: Float32Array
    settled_ms: int
    resources: tuple[str, ...] = BASE
    further_used: tuple[int, ...] = ()
    further_usage: Float32Array | None = None
    exchangeable: BoolArray | None = None
    gang: IntArray | None = None
    usage_column: IntArray | None = None
    use_recorded: BoolArray | None = None
    gang_minimum: IntArray | None = None
    constraints: Constraints | None = None
    pinned: IntArray | None = None
    daemon: BoolArray | None = None
    priority: IntArray | None = None
    evicts_nobody: BoolArray | None = None
    never_evicted: BoolArray | None = None
    budgets: Budgets | None = None
    written: Written | None = None
    preemption: bool | None = None
    gang_wait_ms: int = 0
    gang_backoff_ms: int = 0
    losses: Losses | None = None
    joins: Losses | None = None
    leaves: Losses | None = None
    returns: Losses | None = None
    domains: NodeDomains | None = None
    reserved: IntArray | None = None
    stays: BoolArray | None = None
    cordoned: BoolArray | None = None
    price_per_hour: FloatArray | None = None
    instance_types: tuple[str, ...] | None = None
    currency: str = ""
    calls: CallWeights | None = None
    doubt: SizeDoubt | None = None
    ceiling: Ceiling = field(default_factory=Ceiling)
    assumptions: Mapping[str, object] = field(default_factory=dict)
    facts: Mapping[str, int] = field(default_factory=dict)
    quantities: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[Fact, ...] = ()

    def __post_init__(self) -> None:
        check_unique("node", self.node_ids)
        check_unique("container", self.container_ids)
        check_amounts(
            self.capacity, self.request, self.resources, self.node_ids, self.container_ids
        )
        check_times(self.arrival_ms, self.departure_ms, self.container_ids)
        check_per_container(self.containers, self.nodes, self.pinned, self._per_container())
        if self.constraints is not None:
            self.constraints.check(self.containers, self.nodes)
        check_further(self.further_usage, self.further_used, self.usage.shape, self.resources)
        self._check_usage()

    def _per_container(self) -> dict[str, int]:
        """Lengths of what is told of some workloads alone."""
        names = (
            "gang",
            "gang_minimum",
            "pinned",
            "daemon",
            "priority",
            "exchangeable",
            "evicts_nobody",
            "never_evicted",
            "budgets",
            "written",
        )
        found = {name: getattr(self, name) for name in names}
        return {name: len(values) for name, values in found.items() if values is not None}

    def _check_usage(self) -> None:
        """Usage must be known from a container's arrival on, or from the start if exchangeable."""
        first = np.searchsorted(self.times_ms, self.arrival_ms).astype(np.int32)
        if self.exchangeable is not None:
            first[self.exchangeable] = 0
        until = np.searchsorted(self.times_ms, self.departure_ms).astype(np.int32)
        every = np.ones(self.nodes, dtype=np.bool_)
        for begin in range(0, len(self.times_ms), _STEPS_AT_ONCE):
            steps = slice(begin, begin + _STEPS_AT_ONCE)
            if all_sound(self.usage[:, steps]) and all_sound(self.background[:, steps]):
                continue
            for step, now in enumerate(self.times_ms[steps].tolist(), begin):
                due = (first <= step) & (step < until)
                check_usage("container", self.container_ids, due, self.use_at(step), now)
                check_usage("node", self.node_ids, every, self.background[:, step], now)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_ids)

    @property
    def containers(self) -> int:
        """Number of containers."""
        return len(self.container_ids)

    @property
    def recorded(self) -> bool:
        """Whether production's node is known for some container; without one it waits."""
        return bool((self.recorded_node >= 0).any())

    @property
    def allocatable(self) -> IntArray:
        """The amount of each node that requests may take, shape (nodes, resources)."""
        return self.capacity if self.reserved is None else self.capacity - self.reserved

    @property
    def prices(self) -> FloatArray | None:
        """What each node costs per hour; None where that of one is not known: no sum is, then."""
        known = self.price_per_hour
        return None if known is None or np.isnan(known).any() else known

    def use_at(self, step: int) -> Float32Array:
        """Use of millicores and of bytes at a sampling step, shape (2, containers)."""
        use = self.usage[:, step]
        return use if self.usage_column is None else use.take(self.usage_column, axis=1)

    def columns_of(self, containers: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """The column of usage of each of some containers."""
        return containers if self.usage_column is None else self.usage_column[containers]

    def too_large(self) -> IntArray:
        """Containers whose request fits on no node, even an empty one; shape (found,)."""
        room = self.allocatable
        shapes, where = np.unique(self.request, axis=0, return_inverse=True)
        fits = np.array([bool((room >= shape).all(axis=1).any()) for shape in shapes])
        return np.flatnonzero(~fits[where.reshape(-1)]) if len(shapes) else np.empty(0, np.int64)

    def present_but_daemons(self, step: int) -> BoolArray:
        """Which containers exist at a sampling step and belong to no node, shape (containers,)."""
        there = self.present(step)
        return there if self.daemon is None else there & ~self.daemon

    def present(self, step: int) -> BoolArray:
        """Which containers exist at a sampling step, shape (containers,)."""
        now = self.times_ms[step]
        return np.asarray((self.arrival_ms <= now) & (now < self.departure_ms))


def nonzero(request: IntArray, stated: BoolArray, resources: tuple[str, ...]) -> IntArray:
    """Requests with the scheduler's default where cpu or memory is not stated.

    Parameters
    ----------
    request, stated : shape (containers, resources)
    """
    defaults = np.array([NONZERO_DEFAULT.get(name, 0) for name in resources], dtype=np.int64)
    return np.asarray(np.where(stated, request, defaults))
