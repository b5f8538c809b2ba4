"""The five parts of a workload: nodes, containers, use, rules, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.facts import Fact
from tracekit.cluster.budgets import Budgets
from tracekit.cluster.calls import CallWeights
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.written import Written
from tracekit.cluster.declared import Ceiling
from tracekit.cluster.nodes import Losses, NodeDomains
from tracekit.cluster.provenance import SizeDoubt


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes:
    """Nodes, their sizes and prices, and when they come and go.

    Parameters
    ----------
    ids : tuple of str
    capacity : int64, shape (nodes, resources)
    reserved : int64, shape (nodes, resources), optional
        The amount of the capacity that is reserved for what runs outside of containers; requests
        may take the rest. None: nothing is. See ``tracekit.cluster.reserved``.
    domains : NodeDomains, optional
        Rack, domain and zone of nodes. None: not known.
    losses : Losses, optional
        Nodes that are lost, or leave; what runs on them is evicted. None: none is.
    joins : Losses, optional
        Nodes that come later, with their times; they take nothing before. None: none does.
    leaves, returns : Losses, optional
        Nodes that leave for a while, and the times at which they come back; what runs on them is
        evicted, as on those in ``losses``, which is given then. None: none does.
    stays : bool, shape (nodes,), optional
        Nodes that are never removed: those of the control plane. None: there are none.
    cordoned : bool, shape (nodes,), optional
        Nodes that take nothing new at the end of the record. None: there are none.
    price_per_hour : float64, shape (nodes,), optional
        The price of each node; NaN where not known. None: of none.
    instance_types : tuple of str, optional
        The instance type of each node, empty where not known. None: of none.
    currency : str
        The currency of the prices; empty where it is not stated.
    """

    ids: tuple[str, ...]
    capacity: IntArray
    reserved: IntArray | None = None
    domains: NodeDomains | None = None
    losses: Losses | None = None
    joins: Losses | None = None
    leaves: Losses | None = None
    returns: Losses | None = None
    stays: BoolArray | None = None
    cordoned: BoolArray | None = None
    price_per_hour: FloatArray | None = None
    instance_types: tuple[str, ...] | None = None
    currency: str = ""

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.ids)

    @property
    def allocatable(self) -> IntArray:
        """The amount of each node that requests may take, shape (nodes, resources)."""
        return self.capacity if self.reserved is None else self.capacity - self.reserved

    @property
    def prices(self) -> FloatArray | None:
        """The price of each node per hour; None where the price of any node is not known."""
        known = self.price_per_hour
        return None if known is None or np.isnan(known).any() else known


@dataclass(frozen=True, kw_only=True, eq=False)
class Containers:
    """Containers in order of arrival, what they request, and when they run.

    Parameters
    ----------
    ids, services : tuple of str
    recorded_node : int64, shape (containers,)
        The node on which production ran the container, -1 when not known.
    arrival_ms, departure_ms : int64, shape (containers,)
        A container runs at ``arrival_ms <= time < departure_ms`` once it has a node.
    request, nonzero_request, limit : int64, shape (containers, resources)
        ``nonzero_request`` replaces unstated cpu and memory; a limit of 0 is none.
    exchangeable : bool, shape (containers,), optional
        Containers that may take each other's times of arrival, because nothing but an assumption
        gave each its own; their usage is known from the first step on. None: none of them.
    """

    ids: tuple[str, ...]
    services: tuple[str, ...]
    recorded_node: IntArray
    arrival_ms: IntArray
    departure_ms: IntArray
    request: IntArray
    nonzero_request: IntArray
    limit: IntArray
    exchangeable: BoolArray | None = None

    @property
    def count(self) -> int:
        """Number of containers."""
        return len(self.ids)

    @property
    def recorded(self) -> bool:
        """Whether the node of some container in production is known."""
        return bool((self.recorded_node >= 0).any())


@dataclass(frozen=True, kw_only=True, eq=False)
class Use:
    """Use of containers, and of nodes beside their containers, over time.

    Parameters
    ----------
    step_ms : int
    times_ms : int64, shape (steps,)
        Sampling times, ``step_ms`` apart.
    settled_ms : int
        Averages are over the samples from here on; before it the cluster is being filled.
    values : float32, shape (2, steps, columns)
        Use of millicores and of bytes; counts only while the container runs, and is a number
        then. Read it through ``at``.
    column : int64, shape (containers,), optional
        The column of ``values`` of each container, so that another order of arrival needs no
        other matrix. None: its own position.
    recorded : bool, shape (2, columns), optional
        Columns of ``values`` that are recorded; in others a stand-in counts. None: all are.
    background : float32, shape (2, steps, nodes)
        Use of a node that no container of the workload explains.
    further_resources : tuple of int
        Columns of resources beyond the first two whose use is recorded.
    further : float32, shape (further_resources, steps, columns), optional
        Use of each of them, by the columns of ``values``; NaN where not known. What counts then,
        and of other resources: ``tracekit.policy.view.sampled``. None: of none is it recorded.
    """

    step_ms: int
    times_ms: IntArray
    settled_ms: int
    values: Float32Array
    background: Float32Array
    column: IntArray | None = None
    recorded: BoolArray | None = None
    further_resources: tuple[int, ...] = ()
    further: Float32Array | None = None

    def at(self, step: int) -> Float32Array:
        """Use of millicores and of bytes at a sampling step, shape (2, containers)."""
        use = self.values[:, step]
        return use if self.column is None else use.take(self.column, axis=1)

    def columns_of(self, containers: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """The column of each of some containers."""
        return containers if self.column is None else self.column[containers]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rules:
    """What a placement must obey: where containers may run, who is evicted, how full nodes may be.

    Parameters
    ----------
    constraints : Constraints, optional
        Which containers may share a node, and where each may run; None: all anywhere.
    pinned : int64, shape (containers,), optional
        The node that a container gets at its arrival without a policy being asked, whether or not
        it has room; -1: a policy decides. None: a policy always does.
    daemon : bool, shape (containers,), optional
        Containers that belong to their node: no rebalancer evicts them. None: there are none.
    priority : int64, shape (containers,), optional
        Of waiting containers the one with the larger goes first, then the one that waited longest.
        None: all have the same.
    evicts_nobody : bool, shape (containers,), optional
        Containers that wait where others would evict. None: none does.
    never_evicted : bool, shape (containers,), optional
        Containers that may not be evicted when their node is to be removed. None: all may.
    gang : int64, shape (containers,), optional
        Containers of one gang run all or none; -1 is no gang. Best they arrive at one time, next
        to each other: until the last that is needed has arrived, the others wait. None: there are
        no gangs. See ``tracekit.cluster.gangs``.
    gang_minimum : int64, shape (containers,), optional
        How many of the container's gang are enough, the same for each of the gang; those beyond may
        wait. 0, or None for all: none is stated, and those that are left of the gang are needed.
    gang_wait_ms : int
        How long a gang holds nodes while at most a tenth of its members finds none; 0: not at all.
    gang_backoff_ms : int
        How long a gang that could not begin is not tried again.
    preemption : bool, optional
        True: a container that fits nowhere evicts containers of lower priority. None: none does.
    budgets : Budgets, optional
        The disruption budget of each container. None: there are none.
    written : Written, optional
        What is written of containers and nodes for a descheduler to read. None: nothing is.
    calls : CallWeights, optional
        Which service calls which. None: not known, or no policy asks.
    ceiling : Ceiling
        How full a node may be before it counts as full.
    """

    constraints: Constraints | None = None
    pinned: IntArray | None = None
    daemon: BoolArray | None = None
    priority: IntArray | None = None
    evicts_nobody: BoolArray | None = None
    never_evicted: BoolArray | None = None
    gang: IntArray | None = None
    gang_minimum: IntArray | None = None
    gang_wait_ms: int = 0
    gang_backoff_ms: int = 0
    preemption: bool | None = None
    budgets: Budgets | None = None
    written: Written | None = None
    calls: CallWeights | None = None
    ceiling: Ceiling = field(default_factory=Ceiling)

    def lengths(self) -> dict[str, int]:
        """The length of each field that has an entry for every container."""
        of_rights = ("pinned", "daemon", "priority", "evicts_nobody", "never_evicted")
        names = (*of_rights, "gang", "gang_minimum", "budgets", "written")
        fields = {name: getattr(self, name) for name in names}
        return {name: len(values) for name, values in fields.items() if values is not None}


@dataclass(frozen=True, kw_only=True, eq=False)
class Provenance:
    """What a workload rests on.

    Parameters
    ----------
    assumptions, facts : mapping
        Named assumptions with values; counts worth knowing about how the workload was made.
    quantities : mapping
        For each quantity ``recorded``, ``inferred``, ``assumed`` or ``absent``.
    remarks : tuple of Fact
        What a reader must know of its source before the numbers.
    doubt : SizeDoubt, optional
        How far inferred sizes may be off; other orders of arrival draw them too. None: no size is
        inferred.
    """

    assumptions: Mapping[str, object] = field(default_factory=dict)
    facts: Mapping[str, int] = field(default_factory=dict)
    quantities: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[Fact, ...] = ()
    doubt: SizeDoubt | None = None
