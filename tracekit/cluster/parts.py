"""The five parts of a workload: nodes, containers, use, rules, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.facts import Fact
from tracekit.cluster.budgets import Budgets
from tracekit.cluster.calls import CallWeights
from tracekit.cluster.constraints.constraints import Constraints, DeschedulerRows
from tracekit.cluster.declared import Ceiling
from tracekit.cluster.provenance import SizeDoubt

#: Kinds of domains, the smallest first.
KINDS = ("rack", "domain", "zone")


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeDomains:
    """The rack, domain and zone of every node, where nodes state them.

    Parameters
    ----------
    kinds : tuple of str
        Those of ``rack``, ``domain`` and ``zone`` that some node states.
    names : tuple of str
        Names of racks, domains and zones, all in one list.
    of : int64, shape (kinds, nodes)
        A position in ``names``, -1 where a node states none.
    """

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    of: IntArray

    def by(self, kind: str) -> IntArray | None:
        """Return the domain of every node by one kind, shape (nodes,).

        Return None if no node states this kind.
        """
        return self.of[self.kinds.index(kind)] if kind in self.kinds else None

    def on(self, nodes: IntArray) -> NodeDomains:
        """Return the part with the nodes at these positions alone."""
        return replace(self, of=self.of[:, nodes])

    def named(self, kind: str, name: str) -> IntArray:
        """Return the positions of the nodes of a domain, shape (found,).

        The array is empty if no node is in the domain.
        """
        of = self.by(kind)
        if of is None or name not in self.names:
            return np.empty(0, dtype=np.int64)
        positions = [at for at, one in enumerate(self.names) if one == name]
        return np.flatnonzero(np.isin(of, positions))


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeEvents:
    """The times at which nodes are lost, in order; also used for nodes that join, leave or return.

    Parameters
    ----------
    node, time_ms : int64, shape (losses,)
        Each node occurs once, unless it leaves and comes back several times.
    assumed : bool, shape (losses,), optional
        Which losses are assumed, so that production kept the node. None if no loss is.
    drawn : bool, shape (losses,), optional
        Which nodes were drawn, because a number of nodes was given. None if no node was.
    """

    node: IntArray
    time_ms: IntArray
    assumed: BoolArray | None = None
    drawn: BoolArray | None = None

    @property
    def recorded(self) -> IntArray:
        """The nodes that production lost, in the order of their times."""
        return self.node if self.assumed is None else self.node[~self.assumed]

    def on(self, place: IntArray) -> NodeEvents:
        """Return the losses of the nodes that stay, at their new positions.

        Parameters
        ----------
        place : int64, shape (nodes + 1,)
            The new position of each node, -1 for a node that goes.
        """
        return self.of(place[self.node] >= 0, place)

    def of(self, some: BoolArray, place: IntArray | None = None) -> NodeEvents:
        """Return the losses that ``some``, shape (losses,), marks.

        Their nodes get the positions in ``place``, if it is given.
        """
        node = self.node[some]
        return NodeEvents(
            node=node if place is None else np.asarray(place[node]),
            time_ms=self.time_ms[some],
            assumed=None if self.assumed is None else self.assumed[some],
            drawn=None if self.drawn is None else self.drawn[some],
        )


def zone_counts(domains: NodeDomains | None) -> dict[str, int]:
    """Return the counts ``zones`` and ``nodes_without_zone``; empty if no node states a zone."""
    zone = None if domains is None else domains.by("zone")
    if zone is None:
        return {}
    return {"zones": len(np.unique(zone[zone >= 0])), "nodes_without_zone": int((zone < 0).sum())}


def domains_of(columns: dict[str, list[str | None]]) -> NodeDomains | None:
    """Return the domains in columns by kind, one entry a node, or None if there is no domain."""
    kinds = [kind for kind in KINDS if any(columns.get(kind) or ())]
    if not kinds:
        return None
    names: list[str] = []
    rows = []
    for kind in kinds:
        number: dict[str, int] = {}
        for name in columns[kind]:
            if name and name not in number:
                number[name] = len(names)
                names.append(name)
        rows.append([number.get(name or "", -1) for name in columns[kind]])
    return NodeDomains(kinds=tuple(kinds), names=tuple(names), of=np.array(rows, dtype=np.int64))


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes:
    """Nodes, their sizes and prices, and when they come and go.

    Parameters
    ----------
    ids : tuple of str
    capacity : int64, shape (nodes, resources)
    reserved : int64, shape (nodes, resources), optional
        The part of the capacity that is reserved for use outside of containers; requests may
        take the rest. None if nothing is reserved. See ``tracekit.cluster.resources``.
    domains : NodeDomains, optional
        Rack, domain and zone of nodes. None if they are not known.
    losses : NodeEvents, optional
        Nodes that are lost, or leave; what runs on them is evicted. None if no node is lost.
    joins : NodeEvents, optional
        Nodes that come later, with their times; they take nothing before. None if none comes.
    leaves, returns : NodeEvents, optional
        Nodes that leave for a while, and the times at which they come back; what runs on them
        is evicted. ``losses`` is given then. None if no node leaves for a while.
    never_removed : bool, shape (nodes,), optional
        Nodes that are never removed: those of the control plane. None if there are none.
    cordoned : bool, shape (nodes,), optional
        Nodes that take nothing new at the end of the record. None if there are no such nodes.
    price_per_hour : float64, shape (nodes,), optional
        The price of each node, NaN if it is not known. None if no price is known.
    instance_types : tuple of str, optional
        The instance type of each node, empty if it is not known. None if no type is known.
    currency : str
        The currency of the prices; empty where it is not stated.
    """

    ids: tuple[str, ...]
    capacity: IntArray
    reserved: IntArray | None = None
    domains: NodeDomains | None = None
    losses: NodeEvents | None = None
    joins: NodeEvents | None = None
    leaves: NodeEvents | None = None
    returns: NodeEvents | None = None
    never_removed: BoolArray | None = None
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
        price = self.price_per_hour
        return None if price is None or np.isnan(price).any() else price


@dataclass(frozen=True, kw_only=True, eq=False)
class Containers:
    """Containers in order of arrival, with their requests and the times at which they run.

    Parameters
    ----------
    ids, services : tuple of str
    recorded_node : int64, shape (containers,)
        The node on which production ran the container, -1 when not known.
    arrival_ms, departure_ms : int64, shape (containers,)
        A container runs at ``arrival_ms <= time < departure_ms`` once it has a node.
    request, nonzero_request, limit : int64, shape (containers, resources)
        ``nonzero_request`` has the scheduler's defaults where a request for CPU or memory is not
        stated. A limit of 0 means no limit.
    exchangeable : bool, shape (containers,), optional
        Containers that may swap their assumed times of arrival; their use is known from the first
        step on. None if no container may.
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
        The time from which samples count in results; before it the cluster is being filled.
    values : float32, shape (2, steps, columns)
        Use in millicores and bytes. A value counts only while its container runs, and may be NaN at
        other times. ``at`` returns the values of a step by container.
    column : int64, shape (containers,), optional
        The column of ``values`` that holds each container's use, so that another order of
        arrival needs no other matrix. None if it is the container's own position.
    recorded : bool, shape (2, columns), optional
        Which columns of ``values`` are recorded; the others hold assumed use. None if all are.
    background : float32, shape (2, steps, nodes)
        Use of a node beyond that of the workload's containers.
    further_resources : tuple of int
        The resources beyond CPU and memory with recorded use, as positions in ``resources``.
    further : float32, shape (further_resources, steps, columns), optional
        Use of each of these resources, by the columns of ``values``; NaN where it is not known.
        ``tracekit.replay.measures.sampled`` says what counts then. None if none is recorded.
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
        """Return use in millicores and bytes at a sampling step, shape (2, containers)."""
        use = self.values[:, step]
        return use if self.column is None else use.take(self.column, axis=1)

    def columns_of(self, containers: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """Return the columns of ``values`` for these containers."""
        return containers if self.column is None else self.column[containers]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rules:
    """What a placement must obey: where containers may run, who is evicted, how full nodes may be.

    Parameters
    ----------
    constraints : Constraints, optional
        Which containers may share a node, and where each may run. None if any container may run
        anywhere.
    pinned : int64, shape (containers,), optional
        The node that a container gets at its arrival whatever a policy says, even without room; -1
        if the policy decides. None if the policy always decides.
    daemon : bool, shape (containers,), optional
        Containers that belong to their node: no rebalancer evicts them. None if there are none.
    priority : int64, shape (containers,), optional
        Among waiting containers the one with the highest priority goes first, then the one that
        waited longest. None if all are equal.
    evicts_nobody : bool, shape (containers,), optional
        Containers that wait instead of evicting others. None if there are no such containers.
    never_evicted : bool, shape (containers,), optional
        Containers that may not be evicted to remove their node. None if there are none.
    gang : int64, shape (containers,), optional
        The gang of each container, -1 for none. Either enough members of a gang run, or none of
        them. Members wait until the last needed member has arrived. None if there are no gangs. See
        ``tracekit.cluster.gangs``.
    gang_minimum : int64, shape (containers,), optional
        The number of members that is enough for the container's gang; further members may wait. 0
        if the gang states no number, None if no gang does. Then all members that have not departed
        are needed, but no more than exist at one time.
    gang_wait_ms : int
        How long a gang keeps its nodes while at most a tenth of its members finds no node; 0: not
        at all.
    gang_backoff_ms : int
        How long a gang that could not begin waits for its next try.
    preemption : bool, optional
        True: a container that fits nowhere evicts containers of lower priority. None: no container
        does.
    budgets : Budgets, optional
        The disruption budget of each container. None if there are no budgets.
    written : DeschedulerRows, optional
        Labels and annotations of containers and nodes that a descheduler reads. None if it would
        read nothing.
    calls : CallWeights, optional
        The calls between services. None if they are not known, or if no policy reads them.
    ceiling : Ceiling
        The shares of CPU and memory above which a node is full.
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
    written: DeschedulerRows | None = None
    calls: CallWeights | None = None
    ceiling: Ceiling = field(default_factory=Ceiling)

    def lengths(self) -> dict[str, int]:
        """Return the length of each field that has an entry for every container."""
        of_rights = ("pinned", "daemon", "priority", "evicts_nobody", "never_evicted")
        names = (*of_rights, "gang", "gang_minimum", "budgets", "written")
        fields = {name: getattr(self, name) for name in names}
        return {name: len(values) for name, values in fields.items() if values is not None}


@dataclass(frozen=True, kw_only=True, eq=False)
class Provenance:
    """The origin of a workload's numbers.

    Parameters
    ----------
    assumptions, facts : mapping
        The values of assumptions, and counts about how the workload was made.
    quantities : mapping
        For each quantity ``recorded``, ``inferred``, ``assumed`` or ``absent``.
    remarks : tuple of Fact
        Facts that a reader must know before the numbers.
    doubt : SizeDoubt, optional
        The intervals of inferred sizes; other orders of arrival draw sizes from them. None: no
        size is inferred.
    """

    assumptions: Mapping[str, object] = field(default_factory=dict)
    facts: Mapping[str, int] = field(default_factory=dict)
    quantities: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[Fact, ...] = ()
    doubt: SizeDoubt | None = None

    def plus(
        self,
        *,
        assumptions: Mapping[str, object] | None = None,
        facts: Mapping[str, int] | None = None,
        quantities: Mapping[str, str] | None = None,
        remarks: tuple[Fact, ...] = (),
    ) -> Provenance:
        """Return the provenance with further entries; an entry replaces one of the same name."""
        return replace(
            self,
            assumptions={**self.assumptions, **(assumptions or {})},
            facts={**self.facts, **(facts or {})},
            quantities={**self.quantities, **(quantities or {})},
            remarks=(*self.remarks, *remarks),
        )
