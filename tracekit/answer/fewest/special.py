"""Nodes that no search lets go, and why: special ones, those of the control plane, those gone."""

from dataclasses import replace

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.resources import BASE, DISK, DISK_IO, NET, PODS, UNLIMITED
from tracekit.cluster.workload import Workload

#: Why a node is special: its own taint or label, a pod that may not be evicted, no recorded use; or
#: the name of a resource.
TAINTED, PINNED, NO_USE = "tainted", "pinned", "no_use"
#: The classes that ``may_remove`` releases; the first is of every resource beyond CPU and memory.
GPU = "gpu"
CLASSES = (GPU, TAINTED, PINNED)
#: What fewer nodes than this share have is special.
FEW = 0.05
#: Use counts as recorded where so many nodes have some.
_MOST = 0.9
#: Where more containers than this share have no owner, owners are not recorded.
_BARE = 0.1
#: Resources that every node is expected to have.
_ORDINARY = (*BASE, DISK, DISK_IO, NET, PODS)


def left_nodes(load: Workload) -> IntArray:
    """Nodes that production lost by the end, in order; one that is lost by assumption is there."""
    return (
        np.zeros(0, np.int64)
        if load.nodes.losses is None
        else np.unique(load.nodes.losses.recorded)
    )


def fixed_nodes(load: Workload) -> BoolArray:
    """Nodes that nobody can give back: of the control plane, special, gone already, to be lost."""
    fixed = (
        np.zeros(load.nodes.count, np.bool_)
        if load.nodes.stays is None
        else load.nodes.stays.copy()
    )
    if load.nodes.losses is not None:
        fixed[load.nodes.losses.node] = True
    return fixed


def special_nodes(load: Workload, may_remove: tuple[str, ...] = ()) -> dict[int, str]:
    """The nodes that stay for a reason of their own, by position, with the first reason.

    Parameters
    ----------
    may_remove : tuple of str
        Reasons that do not count: see ``CLASSES``.
    """
    found: dict[int, str] = {}
    for reason, those in _reasons(load):
        released = reason in may_remove or (reason in load.resources and GPU in may_remove)
        for node in np.flatnonzero(those).tolist() if not released else ():
            found.setdefault(node, reason)
    return found


def where_special_stay(load: Workload, may_remove: tuple[str, ...] = ()) -> Workload:
    """The workload whose special nodes are among those that stay."""
    special = list(special_nodes(load, may_remove))
    if not special:
        return load
    stays = (
        np.zeros(load.nodes.count, np.bool_)
        if load.nodes.stays is None
        else load.nodes.stays.copy()
    )
    stays[special] = True
    return replace(load, nodes=replace(load.nodes, stays=stays))


def pools_of(load: Workload) -> list[IntArray]:
    """Nodes that are open to the same containers and have the same resources, most nodes first."""
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    masks = [part.mask for part in parts if isinstance(part, Allowed)]
    has = np.vstack([*masks, (_had(load)).T]).T
    pool = np.unique(has, axis=0, return_inverse=True)[1].reshape(-1)
    found = [np.flatnonzero(pool == number) for number in range(int(pool.max(initial=-1)) + 1)]
    return sorted(found, key=len, reverse=True)


def _had(load: Workload) -> BoolArray:
    """Which resources each node has in a limited amount, shape (nodes, resources)."""
    return np.asarray((load.nodes.capacity > 0) & (load.nodes.capacity < UNLIMITED))


def _reasons(load: Workload) -> list[tuple[str, BoolArray]]:
    """Each reason with the nodes that it is of."""
    has = _had(load)
    resources = [
        (name, has[:, at]) for at, name in enumerate(load.resources) if name not in _ORDINARY
    ]
    few = [*resources, *((TAINTED, one) for one in _of_their_own(load))]
    found = [(reason, those) for reason, those in few if 0 < those.sum() < FEW * load.nodes.count]
    return [*found, (PINNED, _pinned(load)), (NO_USE, _without_use(load))]


def _of_their_own(load: Workload) -> list[BoolArray]:
    """Nodes whose taints close them to most containers; those that some selector asks for."""
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    found = []
    for part in parts:
        if not isinstance(part, Allowed):
            continue
        open_ = np.concatenate([part.mask, np.ones((1, load.nodes.count), np.bool_)])
        if part.label == "selector":
            found += list(part.mask)
        elif load.containers.count:
            usual = open_[np.bincount(part.of + 1, minlength=len(open_)).argmax() - 1]
            closed = ~usual if load.nodes.cordoned is None else ~usual & ~load.nodes.cordoned
            # nodes that are open to the same containers have the same taints
            _, taints = np.unique(part.mask, axis=1, return_inverse=True)
            found += [closed & (taints == one) for one in np.unique(taints[closed]).tolist()]
    return found


def _pinned(load: Workload) -> BoolArray:
    """Nodes that run a container at the end which may not be evicted, or which nothing restarts.

    The second are those without an owner: a source that records owners calls no other service by
    the name of its one container. Where it records none, all are alike, and none counts.
    """
    stays = load.present_but_daemons(-1) & (load.containers.recorded_node >= 0)
    named = np.array(
        [one == of for one, of in zip(load.containers.ids, load.containers.services, strict=True)]
    )
    bare = stays & named
    alone = bare if bare.sum() <= _BARE * stays.sum() else np.zeros_like(bare)
    held = alone if load.rules.never_evicted is None else alone | (stays & load.rules.never_evicted)
    return np.bincount(load.containers.recorded_node[held], minlength=load.nodes.count) > 0


def _without_use(load: Workload) -> BoolArray:
    """Nodes of which no use is recorded, where that of most others is."""
    some = np.asarray(load.use.background[0].any(axis=0))
    if some.mean() < _MOST:
        return np.zeros(load.nodes.count, np.bool_)
    some[load.containers.recorded_node[load.containers.recorded_node >= 0]] = True
    return ~some
