"""Containers that never found a node, and the reasons: by policy, and in sentences.

What is in the way is told of the end of the replay, as kube-scheduler tells it of a pod that waits
("0/300 nodes are available: 297 Insufficient cpu, 3 untolerated taint"): each node counts once, by
the first filter in its order that the node fails. First stands how many may take the pod at all.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.words import agreeing, count, few, listed, words_of
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.reasons import CORDONED, closed_nodes
from tracekit.cluster.gangs import enough_of
from tracekit.cluster.resources import PODS, amount_text, short_names
from tracekit.cluster.workload import UNKNOWN, Workload
from tracekit.replay.chance.student import MATERIAL

#: So many kinds of containers are noted of a policy, those with most first; in sentences those
#: with the same request and reasons are one, and so many are told.
_KINDS, TOLD = 24, 3
#: What closes nodes, in the order of kube-scheduler's filters; volumes and all else come after.
_FILTERS = ("taints", "selector")
#: What stands in a sentence where a service's name would.
_NO_SERVICE = "no service"
#: What nodes lack together, in the keys of a document.
_AND = " and "


def waiting(load: Workload, placements: pl.DataFrame, policy: str) -> dict[str, Any]:
    """Containers that never found a node under a policy, by service and request.

    Parameters
    ----------
    placements : DataFrame
        As a run has them: policy, node, outcome, a row a container in the order of the workload.

    Returns
    -------
    dict
        See ``waiting_on``.
    """
    return waiting_on(load, _numbers(load, placements.filter(policy=policy)))


def waiting_on(load: Workload, node: IntArray) -> dict[str, Any]:
    """Containers that never found a node, by service and request.

    Parameters
    ----------
    node : int64, shape (containers,)
        Where each was placed last, -1 for never.

    Returns
    -------
    dict
        ``containers``: how many; ``gone``: how many of them left before the end, of which nothing
        more is told; ``kept``: how many stay where production ran them with ``--start observed``;
        ``kinds``: the most frequent first of those that are not gone: service, containers, the
        first of them, its request by resource; ``nodes``: how many there are; ``may_take``: how
        many of them may take it at all; ``closed``: why the others may not; ``in_the_way``: what is
        in the way on those that may; ``most_free``: the most of each resource that one of these has
        free. Each node counts once.
    """
    never = np.flatnonzero(node < 0)
    if not len(never):
        return {}
    end = int(load.use.times_ms[-1])
    there = load.containers.departure_ms > end
    still = never[there[never]]
    free = load.nodes.allocatable.copy()
    runs = np.flatnonzero((node >= 0) & there)
    np.subtract.at(free, node[runs], load.containers.request[runs])
    return {
        "containers": len(never),
        "gone": len(never) - len(still),
        "kept": _kept(load, never),
        "kinds": [_kind(load, node, free, some) for some in _by_kind(load, node, still)[:_KINDS]],
    }


def _kept(load: Workload, some: IntArray) -> int:
    """How many of them ran at the beginning, so that they stay there if nothing is placed anew."""
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
    """Containers of one service and request, in a gang or not, the most frequent first."""
    found: dict[tuple[str, bytes, bool, bool], list[int]] = {}
    for index in some.tolist():
        in_vain = can_never_begin(load, index, node)
        key = (
            load.containers.services[index],
            load.containers.request[index].tobytes(),
            in_gang(load, index),
            in_vain,
        )
        found.setdefault(key, []).append(index)
    return [np.array(one) for one in sorted(found.values(), key=lambda one: (-len(one), one[0]))]


def _kind(load: Workload, node: IntArray, free: IntArray, some: IntArray) -> dict[str, Any]:
    first = int(some[0])
    request = load.containers.request[first]
    asked = np.flatnonzero(request).tolist()
    closed, may = _first_of(_closed(load, first), np.ones(load.nodes.count, np.bool_))
    short = (free < request) & (request > 0)
    lacks = {
        _AND.join(load.resources[column] for column in asked if row[column]): row
        for row in np.unique(short[may], axis=0)
        if row.any()
    }
    in_the_way = {name: (short == row).all(axis=1) for name, row in lacks.items()}
    found, room = _first_of(in_the_way, may)
    # what most nodes lack goes first
    counts = dict(sorted(found.items(), key=lambda one: -one[1]))
    if room.any():
        counts[room_left(load, first, node)] = int(room.sum())
    most = free[may].max(axis=0, initial=0)
    return {
        "service": load.containers.services[first],
        "containers": len(some),
        "container": load.containers.ids[first],
        "request": {load.resources[column]: int(request[column]) for column in asked},
        "nodes": load.nodes.count,
        "may_take": int(may.sum()),
        "closed": closed,
        "in_the_way": counts,
        "most_free": {load.resources[column]: int(most[column]) for column in asked},
    }


def _first_of(why: Mapping[str, BoolArray], nodes: BoolArray) -> tuple[dict[str, int], BoolArray]:
    """How many nodes each reason is the first to close, and the nodes that none does."""
    found, left = {}, nodes
    for reason, mask in why.items():
        if (left & mask).any():
            found[reason] = int((left & mask).sum())
        left = left & ~mask
    return found, left


def _closed(load: Workload, index: int) -> dict[str, BoolArray]:
    """The nodes that may never take a container, by reason, in the order of the filters.

    Those that are gone, that taints and selectors close, and that are too small though empty.
    """
    found: dict[str, BoolArray] = {}
    if load.nodes.losses is not None:
        gone = np.zeros(load.nodes.count, np.bool_)
        gone[load.nodes.losses.node] = True
        found["gone"] = gone
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    order = {name: at for at, name in enumerate(_FILTERS)}
    for part in sorted(parts, key=lambda one: order.get(one.name, len(order))):
        if part.fixed:
            why = part.why(index, load.nodes.count)
            found |= {CORDONED: why[CORDONED]} if CORDONED in why else {}
            found |= {reason: mask for reason, mask in why.items() if reason not in found}
    for column in np.flatnonzero(load.containers.request[index]).tolist():
        what, has = _resource(load.resources[column]), load.nodes.allocatable[:, column]
        small = has < load.containers.request[index, column]
        found[f"have no {what}"] = small & (load.nodes.capacity[:, column] == 0)
        found[f"have less {what} than it asks for"] = small
    return found


def _text(found: Mapping[str, Any], kinds_told: int) -> str:
    said = f"{count(found['containers'], 'container')} without a node in the first order of arrival"
    if found["gone"] == found["containers"]:
        return f"{said}; {'it' if found['gone'] == 1 else 'they'} departed before there was room"
    kinds = list(_alike(found["kinds"]).items())[:kinds_told]
    named = sum(kind["containers"] for _, some in kinds for kind in some)
    more = found["containers"] - found["gone"] - named
    others = [
        *([f"{more:,} of other services or sizes"] if more else []),
        *([f"{found['gone']:,} that departed before there was room"] if found["gone"] else []),
    ]
    who = "; ".join([*(_kinds_text(about, some) for about, some in kinds), *others])
    return f"{said}: {who}{_start_told(found)}"


def _start_told(found: Mapping[str, Any]) -> str:
    """How many have a node where what ran stays, a clause."""
    kept, every = found.get("kept", 0), found["containers"]
    if not kept:
        return ""
    who = "it stays" if kept == every == 1 else "all stay" if kept == every else f"{kept:,} stay"
    return f". With --start observed {who} where production ran {'it' if kept == 1 else 'them'}"


def _alike(kinds: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """Kinds by what they request and what is in the way, in words; those of most first."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for kind in kinds:
        # every pod counts as one
        asked = {name: amount for name, amount in kind["request"].items() if name != PODS}
        asks = listed([_amount(amount, name) for name, amount in asked.items()])
        found.setdefault((asks or "nothing", _reasons(kind)), []).append(kind)
    many = sorted(found.items(), key=lambda one: -sum(kind["containers"] for kind in one[1]))
    return dict(many)


def _kinds_text(about: tuple[str, str], kinds: Sequence[Mapping[str, Any]]) -> str:
    asks, why = about
    number = sum(kind["containers"] for kind in kinds)
    each = " each" if len(kinds) > 1 else ""
    names = few(_names(kinds))
    who = f"{number:,} of {names} ({asks} requested{each})"
    return f"{who}: {why}" if why else who


def _names(kinds: Sequence[Mapping[str, Any]]) -> list[str]:
    """The services in their order; containers of which none is known are told last."""
    named = sorted(kind["service"] for kind in kinds if kind["service"] != UNKNOWN)
    return [*named, *([_NO_SERVICE] if len(named) < len(kinds) else [])]


def _reasons(kind: Mapping[str, Any]) -> str:
    """How many nodes may take a container, and what is in the way on these and on the others."""
    # a run of an earlier version does not say what closes nodes
    closed = listed([_shut(name, nodes) for name, nodes in kind.get("closed", {}).items()])
    why = [_why(name, nodes, kind) for name, nodes in kind["in_the_way"].items()]
    if not closed:
        return ", ".join(agreeing(nodes, f"[node|nodes] {text}") for nodes, text in why)
    if not kind["may_take"]:
        return f"no node may take it, {closed}"
    each = ["all" if nodes == kind["may_take"] > 1 else f"{nodes:,}" for nodes, _ in why]
    there = ", ".join(f"{many} {text}" for many, (_, text) in zip(each, why, strict=True))
    may = f"{kind['may_take']:,} of {count(kind['nodes'], 'node')} may take it"
    return f"{may}: {there}, while {closed}"


def _amount(amount: int, name: str) -> str:
    """An amount that says of what it is: bytes are of memory or of a disk."""
    of = f" of {_resource(name)}" if name.endswith("_bytes") else ""
    return f"{amount_text(amount, name)}{of}"


def _resource(name: str) -> str:
    return words_of(short_names([name])[0])


def _shut(name: str, nodes: int) -> str:
    """Why so many nodes may not take a container."""
    return (
        agreeing(nodes, "[node is|nodes are] gone") if name == "gone" else closed_nodes(name, nodes)
    )


def _why(name: str, nodes: int, kind: Mapping[str, Any]) -> tuple[int, str]:
    """The number of nodes that lack something, and what; the most that is free where that is less.

    What is free is told only of a resource of which no node has enough.
    """
    have = "has" if nodes == 1 else "have"
    room = room_words(name, nodes)
    if room:
        return nodes, room
    lacking = [one for one in name.split(_AND) if one in kind["most_free"]]
    most = {one: max(kind["most_free"][one], 0) for one in lacking}
    little = [amount_text(most[one], one) for one in lacking if most[one] < kind["request"][one]]
    free = f" ({listed(little)} at most)" if little else ""
    if not lacking:
        return nodes, name
    return nodes, f"{have} too little {listed([_resource(one) for one in lacking])} free{free}"


# Why a container waits where nodes have room for it.

#: Other containers there, or on nodes alike, close them.
RULES = "rules on other containers"
#: The room is not in one NUMA cell, or not in as many as the container is divided over.
CELLS = "NUMA cells"
#: The one or the other.
EITHER = f"{RULES} or {CELLS}"
#: There is room for the container itself, but not for enough of its gang.
GANG = "gang"
#: So many of its gang have left that it can never begin.
FEW_LEFT = "gang_left"
#: A gang held that room until the end.
HELD = "held"


#: There is too little of what is requested.
ROOM = "room for requests"


def in_gang(load: Workload, index: int) -> bool:
    """Whether a container is one of a gang."""
    return load.rules.gang is not None and bool(load.rules.gang[index] >= 0)


def can_never_begin(load: Workload, index: int, node: IntArray) -> bool:
    """Whether so many of a container's gang left that the others wait in vain.

    Parameters
    ----------
    node : int64, shape (containers,)
        Where each was placed last, -1 for never: a gang that has begun once is not short.
    """
    if load.rules.gang is None or load.rules.gang[index] < 0:
        return False
    if load.rules.gang_minimum is None or not load.rules.gang_minimum[index]:
        # it begins with those that are left
        return False
    members = np.flatnonzero(load.rules.gang == load.rules.gang[index])
    left = load.containers.departure_ms[members] > load.use.times_ms[-1]
    return bool((left | (node[members] >= 0)).sum() < enough_of(load, members))


def room_left(load: Workload, index: int, node: IntArray) -> str:
    """Why a container waits where there is room for it at the end, one of the words above.

    ``node`` is as in ``can_never_begin``.
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


def room_words(name: str, nodes: int) -> str:
    """The same of so many nodes, a clause; empty for another word."""
    have, are = ("has", "is") if nodes == 1 else ("have", "are")
    in_cells = f"{have} it in no {CELLS} as the container asks for"
    said = {
        GANG: f"{have} room, but not for enough of its gang",
        FEW_LEFT: f"{have} room, but fewer of its gang are left than must run together",
        HELD: f"{have} room, which a gang held until the end",
        RULES: f"{have} room, but {are} closed by {RULES}",
        CELLS: f"{have} room, but {in_cells}",
        EITHER: f"{have} room, but {in_cells}, or {are} closed by {RULES}",
    }
    return said.get(name, "")


# How many containers of a workload may wait: so few, and so small, that nobody gains by it.

#: The share of containers, and of what they request of each resource, that may wait: half of the
#: difference that counts at all, so that to carry less makes no policy better by itself.
WAITING_SHARE = MATERIAL / 2
#: The name of that number in a manifest.
MAY_WAIT = "containers_that_may_wait"
#: What a sum of decimals may be off by.
_ROUNDING = 1e-9


def most_waiting(load: Workload) -> int:
    """How many containers may wait, whichever they are.

    They are at most ``WAITING_SHARE`` of the containers, and even the largest of them request at
    most that share of each resource: one database may be more than a hundred small containers.
    """
    few = int(WAITING_SHARE * load.containers.count)
    largest = -np.sort(-load.containers.request, axis=0)[:few]
    most = WAITING_SHARE * load.containers.request.sum(axis=0, dtype=np.float64) * (1 + _ROUNDING)
    return int((largest.cumsum(axis=0) <= most).all(axis=1).sum())
