"""Containers that no policy's node took until the end of the replay, and the reasons.

The reasons hold at the end of the replay, and are written as kube-scheduler writes them ("0/300
nodes are available: 297 Insufficient cpu, 3 untolerated taint"). Each node counts once, for the
first filter that the node fails.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.constants import WAITING_SHARE
from tracekit.base.words import words_of
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.reasons import CORDONED
from tracekit.cluster.gangs import enough_of
from tracekit.cluster.resources import short_names
from tracekit.cluster.workload import Workload

#: The number of kinds of waiting containers that a run notes for a policy.
_KINDS = 24
#: The first constraints in the order of kube-scheduler's filters; all others come after them.
_FILTERS = ("taints", "selector")
#: Joins the resources that a node lacks, in the keys of a document.
_AND = " and "


def waiting(load: Workload, placements: pl.DataFrame, policy: str) -> dict[str, Any]:
    """Return the containers that never got a node under a policy, by service and request.

    Parameters
    ----------
    placements : DataFrame
        Of a run: policy, node, outcome; a row for each container in the order of the workload.

    Returns
    -------
    dict
        Empty where all containers got a node. ``containers``: their number. ``gone``: how many of
        them departed before the end; ``kinds`` leaves these out. ``kept``: how many would stay on
        their recorded node with ``--start observed``. ``kinds``: the most frequent kinds first,
        each with ``service``, ``containers``, ``container`` (the first one), ``request`` by
        resource, ``nodes`` (the number in the cluster), ``may_take`` (nodes that may take the
        container), ``closed`` (nodes that may not, by reason), ``in_the_way`` (nodes that may, by
        what they lack) and ``most_free`` (the largest free amount of each resource on a node that
        may).
    """
    node = _numbers(load, placements.filter(policy=policy))
    never = np.flatnonzero(node < 0)
    if not len(never):
        return {}
    end = int(load.use.times_ms[-1])
    lasting = load.containers.departure_ms > end
    still = never[lasting[never]]
    free = load.nodes.allocatable.copy()
    runs = np.flatnonzero((node >= 0) & lasting)
    np.subtract.at(free, node[runs], load.containers.request[runs])
    return {
        "containers": len(never),
        "gone": len(never) - len(still),
        "kept": _staying(load, never),
        "kinds": [_kind(load, node, free, some) for some in _by_kind(load, node, still)[:_KINDS]],
    }


def _staying(load: Workload, some: IntArray) -> int:
    """The number of containers that ran at the start and would stay with ``--start observed``."""
    if load.provenance.assumptions.get("start") != "empty" or load.containers.exchangeable is None:
        return 0
    return int(
        (load.containers.exchangeable[some] & (load.containers.recorded_node[some] >= 0)).sum()
    )


def _numbers(load: Workload, placements: pl.DataFrame) -> IntArray:
    """The last node of each container, -1 for none; shape (containers,)."""
    at = {name: number for number, name in enumerate(load.nodes.ids)}
    nodes = placements["node"].replace_strict(at, default=-1, return_dtype=pl.Int64)
    return nodes.fill_null(-1).to_numpy()


def _by_kind(load: Workload, node: IntArray, some: IntArray) -> list[IntArray]:
    """Groups of containers with equal service, request and state of their gang, largest first."""
    groups: dict[tuple[str, bytes, bool, bool], list[int]] = {}
    for index in some.tolist():
        in_vain = can_never_begin(load, index, node)
        key = (
            load.containers.services[index],
            load.containers.request[index].tobytes(),
            in_gang(load, index),
            in_vain,
        )
        groups.setdefault(key, []).append(index)
    return [np.array(one) for one in sorted(groups.values(), key=lambda one: (-len(one), one[0]))]


def _kind(load: Workload, node: IntArray, free: IntArray, some: IntArray) -> dict[str, Any]:
    first = int(some[0])
    request = load.containers.request[first]
    requested = np.flatnonzero(request).tolist()
    closed, may = _first_of(_closed(load, first), np.ones(load.nodes.count, np.bool_))
    short = (free < request) & (request > 0)
    lacks = {
        _AND.join(load.resources[column] for column in requested if row[column]): row
        for row in np.unique(short[may], axis=0)
        if row.any()
    }
    in_the_way = {name: (short == row).all(axis=1) for name, row in lacks.items()}
    blocking, room = _first_of(in_the_way, may)
    # the reason of the most nodes comes first
    counts = dict(sorted(blocking.items(), key=lambda one: -one[1]))
    if room.any():
        counts[room_left(load, first, node)] = int(room.sum())
    most = free[may].max(axis=0, initial=0)
    return {
        "service": load.containers.services[first],
        "containers": len(some),
        "container": load.containers.ids[first],
        "request": {load.resources[column]: int(request[column]) for column in requested},
        "nodes": load.nodes.count,
        "may_take": int(may.sum()),
        "closed": closed,
        "in_the_way": counts,
        "most_free": {load.resources[column]: int(most[column]) for column in requested},
    }


def _first_of(why: Mapping[str, BoolArray], nodes: BoolArray) -> tuple[dict[str, int], BoolArray]:
    """The number of nodes that each reason is the first to close, and the nodes left open."""
    counts, left = {}, nodes
    for reason, mask in why.items():
        if (left & mask).any():
            counts[reason] = int((left & mask).sum())
        left = left & ~mask
    return counts, left


def _closed(load: Workload, index: int) -> dict[str, BoolArray]:
    """The nodes that can never take a container, by reason, in the order of the filters.

    The reasons: the node is lost; a taint or a selector closes it; it is too small even if empty.
    """
    closed: dict[str, BoolArray] = {}
    if load.nodes.losses is not None:
        gone = np.zeros(load.nodes.count, np.bool_)
        gone[load.nodes.losses.node] = True
        closed["gone"] = gone
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    order = {name: at for at, name in enumerate(_FILTERS)}
    for part in sorted(parts, key=lambda one: order.get(one.name, len(order))):
        if part.fixed:
            why = part.why(index, load.nodes.count)
            closed |= {CORDONED.text: why[CORDONED]} if CORDONED in why else {}
            closed |= {one.text: mask for one, mask in why.items() if one.text not in closed}
    for column in np.flatnonzero(load.containers.request[index]).tolist():
        what, has = _resource(load.resources[column]), load.nodes.allocatable[:, column]
        small = has < load.containers.request[index, column]
        closed[f"have no {what}"] = small & (load.nodes.capacity[:, column] == 0)
        closed[f"have less {what} than it asks for"] = small
    return closed


def _resource(name: str) -> str:
    return words_of(short_names([name])[0])


# Reasons why a container waits although nodes have room for it.

#: Rules on other containers (affinity, spreading) close the nodes.
RULES = "rules on other containers"
#: The room is not in the number of NUMA cells that the container needs.
CELLS = "NUMA cells"
EITHER = f"{RULES} or {CELLS}"
#: The room is enough for the container, but not for its gang.
GANG = "gang"
#: Too many members of its gang have departed: the gang can never begin.
FEW_LEFT = "gang_left"
#: A gang held the room until the end.
HELD = "held"


def in_gang(load: Workload, index: int) -> bool:
    """Return whether a container is a member of a gang."""
    return load.rules.gang is not None and bool(load.rules.gang[index] >= 0)


def can_never_begin(load: Workload, index: int, node: IntArray) -> bool:
    """Return whether so many members of a container's gang departed that it can never begin.

    Parameters
    ----------
    node : int64, shape (containers,)
        The last node of each container, -1 for never. Members that ran count as present.
    """
    if load.rules.gang is None or load.rules.gang[index] < 0:
        return False
    if load.rules.gang_minimum is None or not load.rules.gang_minimum[index]:
        # a gang without a minimum begins with the members that are left
        return False
    members = np.flatnonzero(load.rules.gang == load.rules.gang[index])
    left = load.containers.departure_ms[members] > load.use.times_ms[-1]
    return bool((left | (node[members] >= 0)).sum() < enough_of(load, members))


def room_left(load: Workload, index: int, node: IntArray) -> str:
    """Return why a container waits although a node has room for it at the end.

    The reason is a constant of this module. ``node`` is as in ``can_never_begin``.
    """
    if in_gang(load, index):
        return FEW_LEFT if can_never_begin(load, index, node) else GANG
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    about = [part for part in parts if not part.fixed and part.about[index]]
    if not about:
        return RULES if load.rules.gang is None else HELD
    celled = [part for part in about if isinstance(part, Cells)]
    if not celled:
        return RULES
    return CELLS if len(celled) == len(about) else EITHER


#: The key of ``most_waiting`` in a manifest.
MAY_WAIT = "containers_that_may_wait"
#: The relative rounding error of a sum.
_ROUNDING = 1e-9


def most_waiting(load: Workload) -> int:
    """Return how many containers may stay without a node, whichever they are.

    This is the largest number that is at most ``WAITING_SHARE`` of all containers, and for which
    even the largest requests sum to at most that share of all requests of each resource.
    """
    few = int(WAITING_SHARE * load.containers.count)
    largest = -np.sort(-load.containers.request, axis=0)[:few]
    most = WAITING_SHARE * load.containers.request.sum(axis=0, dtype=np.float64) * (1 + _ROUNDING)
    return int((largest.cumsum(axis=0) <= most).all(axis=1).sum())
