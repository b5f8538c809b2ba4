"""The nodes of a study of the fewest nodes: special nodes, pools, and zones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.declared import Ceiling
from tracekit.cluster.enlarged import numbered
from tracekit.cluster.resources import BASE, DISK, DISK_IO, NET, PODS, UNLIMITED
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload


@dataclass(frozen=True)
class Cluster:
    """The nodes of a study of the fewest nodes.

    Parameters
    ----------
    capacity : int64, shape (nodes, resources)
        The amount of each of ``resources`` that a node has.
    price_per_hour : float64, shape (nodes,), optional
        None where no price is known.
    barred_by : tuple of str, optional
        For each node the disruption budgets that bar its drain; None where there are no budgets.
        See ``tracekit.cluster.on_nodes``.
    left : int
        How many nodes are gone by the end of the record. Frames do not contain them.
    cordoned : bool, shape (nodes,), optional
        Nodes that take no new container; None where all nodes do.
    like : tuple of str or None
        For each added node the name of the node that it copies; None for the cluster's own nodes.
    running : int64, shape (nodes,), optional
        How many containers production runs on each node at the last step, without daemons; None
        where its placement is not recorded.
    special : mapping of int to str
        By index of a node, why it must stay; see ``special_nodes``.
    ceiling : Ceiling
        The fractions from which on a node is full.
    """

    node_ids: tuple[str, ...]
    resources: tuple[str, ...]
    capacity: IntArray
    price_per_hour: FloatArray | None
    barred_by: tuple[str, ...] | None
    left: int = 0
    cordoned: BoolArray | None = None
    like: tuple[str | None, ...] = ()
    running: IntArray | None = None
    special: Mapping[int, str] = field(default_factory=dict)
    ceiling: Ceiling = field(default_factory=Ceiling)

    def with_more(self, like: IntArray) -> Cluster:
        """Return the cluster with copies of the nodes with these indices at its end."""
        every = np.concatenate([np.arange(len(self.node_ids)), like])
        bars, price, closed = self.barred_by, self.price_per_hour, self.cordoned
        none = np.zeros(len(like), np.int64)
        return replace(
            self,
            node_ids=(*self.node_ids, *numbered(self.node_ids, like)),
            capacity=self.capacity[every],
            price_per_hour=None if price is None else price[every],
            barred_by=None if bars is None else (*bars, *("" for _ in like)),
            cordoned=None if closed is None else np.append(closed, np.zeros(len(like), np.bool_)),
            running=None if self.running is None else np.append(self.running, none),
            like=(*(None for _ in self.node_ids), *(self.node_ids[at] for at in like.tolist())),
        )


def running_on(load: Workload) -> IntArray | None:
    """Return how many containers production runs on each node at the last step, shape (nodes,).

    Daemons are not counted. None where production's placement is not recorded.
    """
    if not load.containers.recorded:
        return None
    running = load.present_but_daemons(-1) & (load.containers.recorded_node >= 0)
    return np.bincount(load.containers.recorded_node[running], minlength=load.nodes.count)


#: Reasons of special nodes: a rare taint or label, a pod that may not be evicted, no recorded use.
#: Any other reason is the name of a rare resource.
TAINTED, PINNED, NO_USE = "tainted", "pinned", "no_use"
#: The classes of ``may_remove``; the first means every resource beyond CPU and memory.
GPU = "gpu"
CLASSES = (GPU, TAINTED, PINNED)
#: A property that fewer than this share of nodes have makes them special.
FEW = 0.05
#: Use counts as recorded where at least this share of nodes have some.
_MOST = 0.9
#: Owners count as not recorded where more than this share of containers have none.
_BARE = 0.1
#: Resources that no node is special for.
_ORDINARY = (*BASE, DISK, DISK_IO, NET, PODS)


def left_nodes(load: Workload) -> IntArray:
    """Return the indices of nodes that production lost during the record.

    Nodes that are lost only because the user assumed a loss do not count.
    """
    return (
        np.zeros(0, np.int64)
        if load.nodes.losses is None
        else np.unique(load.nodes.losses.recorded)
    )


def fixed_nodes(load: Workload) -> BoolArray:
    """Return which nodes cannot be removed, (nodes,): marked as never removed, or lost."""
    fixed = (
        np.zeros(load.nodes.count, np.bool_)
        if load.nodes.never_removed is None
        else load.nodes.never_removed.copy()
    )
    if load.nodes.losses is not None:
        fixed[load.nodes.losses.node] = True
    return fixed


def special_nodes(load: Workload, may_remove: tuple[str, ...] = ()) -> dict[int, str]:
    """Return by index the nodes that must stay because they are special, each with the reason.

    A node is special if few nodes have its resource, taint or label, if it runs a pod that may not
    be evicted, or if it has no recorded use.

    Parameters
    ----------
    may_remove : tuple of str
        Classes of reasons that do not count; see ``CLASSES``.
    """
    reason_of: dict[int, str] = {}
    for reason, those in _reasons(load):
        released = reason in may_remove or (reason in load.resources and GPU in may_remove)
        for node in np.flatnonzero(those).tolist() if not released else ():
            reason_of.setdefault(node, reason)
    return reason_of


def where_special_stay(load: Workload, may_remove: tuple[str, ...] = ()) -> Workload:
    """Return the workload with its special nodes marked as never removed; see ``special_nodes``."""
    special = list(special_nodes(load, may_remove))
    if not special:
        return load
    must_stay = (
        np.zeros(load.nodes.count, np.bool_)
        if load.nodes.never_removed is None
        else load.nodes.never_removed.copy()
    )
    must_stay[special] = True
    return replace(load, nodes=replace(load.nodes, never_removed=must_stay))


def pools_of(load: Workload) -> list[IntArray]:
    """Return the indices of the nodes of each pool, the largest pool first.

    The nodes of a pool have the same kinds of resources and may run the same containers.
    """
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    masks = [part.mask for part in parts if isinstance(part, Allowed)]
    has = np.vstack([*masks, (_had(load)).T]).T
    pool = np.unique(has, axis=0, return_inverse=True)[1].reshape(-1)
    pools = [np.flatnonzero(pool == number) for number in range(int(pool.max(initial=-1)) + 1)]
    return sorted(pools, key=len, reverse=True)


def _had(load: Workload) -> BoolArray:
    """Which resources each node has a limited amount of, shape (nodes, resources)."""
    return np.asarray((load.nodes.capacity > 0) & (load.nodes.capacity < UNLIMITED))


def _reasons(load: Workload) -> list[tuple[str, BoolArray]]:
    """Each reason, and the nodes that it makes special; (nodes,)."""
    has = _had(load)
    resources = [
        (name, has[:, at]) for at, name in enumerate(load.resources) if name not in _ORDINARY
    ]
    few = [*resources, *((TAINTED, one) for one in _of_their_own(load))]
    reasons = [(reason, those) for reason, those in few if 0 < those.sum() < FEW * load.nodes.count]
    return [*reasons, (PINNED, _pinned(load)), (NO_USE, _without_use(load))]


def _of_their_own(load: Workload) -> list[BoolArray]:
    """Sets of nodes: with taints that most containers do not tolerate, or chosen by a selector."""
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    masks = []
    for part in parts:
        if not isinstance(part, Allowed):
            continue
        open_ = np.concatenate([part.mask, np.ones((1, load.nodes.count), np.bool_)])
        if part.label == "selector":
            masks += list(part.mask)
        elif load.containers.count:
            usual = open_[np.bincount(part.of + 1, minlength=len(open_)).argmax() - 1]
            closed = ~usual if load.nodes.cordoned is None else ~usual & ~load.nodes.cordoned
            # nodes that are open to the same containers have the same taints
            _, taints = np.unique(part.mask, axis=1, return_inverse=True)
            masks += [closed & (taints == one) for one in np.unique(taints[closed]).tolist()]
    return masks


def _pinned(load: Workload) -> BoolArray:
    """Which nodes run a container at the end that may not be evicted, or has no owner; (nodes,).

    Nothing restarts a container without an owner. A source that records owners gives such a
    container's service the container's own name. Where most containers are like this, owners are
    not recorded, and none counts.
    """
    running = load.present_but_daemons(-1) & (load.containers.recorded_node >= 0)
    named = np.array(
        [one == of for one, of in zip(load.containers.ids, load.containers.services, strict=True)]
    )
    bare = running & named
    alone = bare if bare.sum() <= _BARE * running.sum() else np.zeros_like(bare)
    held = (
        alone if load.rules.never_evicted is None else alone | (running & load.rules.never_evicted)
    )
    return np.bincount(load.containers.recorded_node[held], minlength=load.nodes.count) > 0


def _without_use(load: Workload) -> BoolArray:
    """Which nodes have no recorded use, where most other nodes have it; (nodes,)."""
    some = np.asarray(load.use.background[0].any(axis=0))
    if some.mean() < _MOST:
        return np.zeros(load.nodes.count, np.bool_)
    some[load.containers.recorded_node[load.containers.recorded_node >= 0]] = True
    return ~some


#: The kind of domain that ``--survive`` names.
ZONE = "zone"


def zones_of(load: Workload) -> IntArray:
    """Return the zone of each node, -1 where it has none, shape (nodes,).

    Raises
    ------
    TracekitError
        Where no node has a zone, or all are in one.
    """
    zone = None if load.nodes.domains is None else load.nodes.domains.by(ZONE)
    if load.nodes.domains is None or zone is None:
        raise TracekitError(
            f"no node of '{load.name}' has a zone, so none can be lost",
            hint="the label topology.kubernetes.io/zone or the column zone of nodes says it",
        )
    if (zone == zone[0]).all():
        raise TracekitError(
            f"all {load.nodes.count:,} nodes of '{load.name}' are in zone"
            f" '{load.nodes.domains.names[zone[0]]}', so that nothing is left without it",
            hint="--survive zone needs nodes in two zones or more",
        )
    return zone


def zones_among(load: Workload, nodes: IntArray) -> list[tuple[str, int]]:
    """Return the zones of some nodes, each with its number of nodes, the largest first."""
    zone = zones_of(load)[nodes]
    each, many = np.unique(zone[zone >= 0], return_counts=True)
    assert load.nodes.domains is not None  # noqa: S101 - as it has zones
    names = load.nodes.domains.names
    return [(names[each[at]], int(many[at])) for at in np.argsort(-many, kind="stable").tolist()]


@dataclass(frozen=True, kw_only=True)
class ZoneBoundContainers:
    """The containers that can run in only one zone, because of rules or of their size.

    Parameters
    ----------
    containers : int
        Their number.
    container_steps : int
        For each container the number of time steps that measures count, added up.
    service : str
        The service of the first container.
    """

    containers: int
    container_steps: int
    service: str


def bound_to_zones(load: Workload) -> dict[str, ZoneBoundContainers]:
    """Return the containers that can run only in one zone, by the zone's name."""
    zone, bound = zones_of(load), np.full(load.containers.count, -1)
    rules = [] if load.rules.constraints is None else load.rules.constraints.parts
    masks = [one for one in rules if isinstance(one, Allowed)]
    kinds = np.column_stack([load.containers.request, *(one.of for one in masks)])
    each, first, of = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    for kind, at in enumerate(first.tolist() if len(each) else ()):
        open_ = (load.nodes.allocatable >= load.containers.request[at]).all(axis=1)
        for one in masks:
            open_ &= one.mask[one.of[at]] | (one.of[at] < 0)
        among = np.unique(zone[open_])
        if len(among) == 1:
            bound[of.reshape(-1) == kind] = among[0]
    if load.rules.daemon is not None:
        bound[load.rules.daemon] = -1
    steps = settled_steps(load.use.times_ms, load.use.settled_ms).tolist()
    present = np.sum([load.present(step) for step in steps], axis=0)
    bound[present == 0] = -1
    assert load.nodes.domains is not None  # noqa: S101 - as it has zones
    return {
        load.nodes.domains.names[one]: ZoneBoundContainers(
            containers=int((bound == one).sum()),
            container_steps=int(present[bound == one].sum()),
            service=load.containers.services[int(np.argmax(bound == one))],
        )
        for one in np.unique(bound[bound >= 0]).tolist()
    }


def evened(zone: IntArray, size: FloatArray, rank: IntArray) -> IntArray:
    """Return an order of nodes, shape (nodes,), whose first n are spread over zones for any n.

    The next node is always from the zone with the smallest total size so far. Nodes of one zone
    keep their order. Nodes without a zone come first, as they are never lost.

    Parameters
    ----------
    zone, size, rank : shape (nodes,)
        The zone (-1 for none), size and rank of each node. Nodes of a lower rank come first.
    """
    before = np.full(len(zone), -1.0)
    for one in np.unique(zone[zone >= 0]):
        mine = np.flatnonzero(zone == one)
        before[mine] = size[mine].cumsum() - size[mine]
    return np.lexsort((before, rank))


def least_beside_a_zone(least: int, zone: IntArray) -> int:
    """Return a lower bound on nodes such that ``least`` nodes are left after the loss of any zone.

    The largest zone has at least an equal share of the nodes with a zone. Nodes without a zone are
    never lost.
    """
    zones, free = len(np.unique(zone[zone >= 0])), int((zone < 0).sum())
    every = np.arange(1, len(zone) + 1)
    left = every - np.ceil(np.maximum(every - free, 0) / zones)
    enough = np.flatnonzero(left >= least)
    return int(every[enough[0]]) if len(enough) else len(zone)
