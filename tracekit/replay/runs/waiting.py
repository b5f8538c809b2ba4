"""Containers that never found a node, and the reasons: by policy, and in sentences.

What is in the way is told of the end of the replay, as kube-scheduler tells it of a pod that waits
("0/300 nodes are available: 297 Insufficient cpu, 3 untolerated taint").
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.measures import words_of
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.workload.constraints.reasons import told
from tracekit.replay.workload.resources import PODS, amount_text, noun, short_names
from tracekit.replay.workload.workload import Workload
from tracekit.words import count, few, listed

#: So many kinds of containers are told of a policy, those with most first.
_KINDS = 3
#: What is said where rules on other containers, or cells of nodes, close what is left.
RULES = "rules on other containers"
#: And where nodes are without a resource altogether.
NOBODY = "no node has"
#: And where there is room for the container itself, but not for enough of its gang.
GANG = "gang"
#: And where a gang held that room until the end.
HELD = "held"


def waiting(load: Workload, placements: pl.DataFrame, policy: str) -> dict[str, Any]:
    """Containers that never found a node under a policy, by service and request.

    Parameters
    ----------
    placements : DataFrame
        As a run has them: policy, node, outcome, a row a container in the order of the workload.

    Returns
    -------
    dict
        ``containers``: how many; ``gone``: how many of them left before the end, of which nothing
        more is told; ``kinds``: of the others the most frequent first: service, containers, the
        first of them, its request by resource, how many nodes each thing closes (a node may count
        twice), and the most of each resource that one node has free that is not closed otherwise.
    """
    mine = placements.filter(policy=policy)
    node = _numbers(load, mine)
    never = np.flatnonzero(node < 0)
    if not len(never):
        return {}
    end = int(load.times_ms[-1])
    there = load.departure_ms > end
    still = never[there[never]]
    free = load.allocatable.copy()
    runs = np.flatnonzero((node >= 0) & there)
    np.subtract.at(free, node[runs], load.request[runs])
    return {
        "containers": len(never),
        "gone": len(never) - len(still),
        "kinds": [_kind(load, free, some) for some in _by_kind(load, still)[:_KINDS]],
    }


def _numbers(load: Workload, placements: pl.DataFrame) -> IntArray:
    """The last node of each container, -1 for none; shape (containers,)."""
    at = {name: number for number, name in enumerate(load.node_ids)}
    nodes = placements["node"].replace_strict(at, default=-1, return_dtype=pl.Int64)
    return nodes.fill_null(-1).to_numpy()


def _by_kind(load: Workload, some: IntArray) -> list[IntArray]:
    """Containers of one service and request, in a gang or not, the most frequent first."""
    found: dict[tuple[str, bytes, bool], list[int]] = {}
    for index in some.tolist():
        key = load.services[index], load.request[index].tobytes(), _in_gang(load, index)
        found.setdefault(key, []).append(index)
    return [np.array(one) for one in sorted(found.values(), key=lambda one: (-len(one), one[0]))]


def _kind(load: Workload, free: IntArray, some: IntArray) -> dict[str, Any]:
    first = int(some[0])
    request = load.request[first]
    closed = _closed(load, first)
    shut = np.any(list(closed.values()), axis=0) if closed else np.zeros(load.nodes, np.bool_)
    short = (free < request) & (request > 0)
    asked = np.flatnonzero(request)
    counts = {name: int(mask.sum()) for name, mask in closed.items() if mask.any()}
    for column in asked.tolist():
        lacks = int((short[:, column] & ~shut).sum())
        if lacks and not load.capacity[:, column].any():
            counts[f"{NOBODY} {noun(load.resources[column])}"] = lacks
        elif lacks:
            counts[load.resources[column]] = lacks
    rest = ~shut & ~short.any(axis=1)
    if rest.any():
        counts[_room_left(load, first)] = int(rest.sum())
    most = free[~shut].max(axis=0, initial=0) if (~shut).any() else np.zeros_like(request)
    return {
        "service": load.services[first],
        "containers": len(some),
        "container": load.container_ids[first],
        "request": {load.resources[column]: int(request[column]) for column in asked.tolist()},
        "in_the_way": counts,
        "most_free": {load.resources[column]: int(most[column]) for column in asked.tolist()},
    }


def _in_gang(load: Workload, index: int) -> bool:
    return load.gang is not None and bool(load.gang[index] >= 0)


def _room_left(load: Workload, index: int) -> str:
    """Why a container waits where there is room for it at the end."""
    if _in_gang(load, index):
        return GANG
    ruled = load.constraints is not None and load.constraints.fixed[index] < 0
    return RULES if ruled or load.gang is None else HELD


def _closed(load: Workload, index: int) -> dict[str, BoolArray]:
    """The nodes that selectors and taints close to a container, and those that are gone."""
    found: dict[str, BoolArray] = {}
    if load.losses is not None:
        gone = np.zeros(load.nodes, np.bool_)
        gone[load.losses.node] = True
        found["gone"] = gone
    parts = () if load.constraints is None else load.constraints.parts
    for part in parts:
        if part.fixed:
            found |= part.why(index, load.nodes)
    return found


def waiting_told(policies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sentences on the containers that each policy never placed, and on the reasons.

    Parameters
    ----------
    policies : sequence of mappings
        As the manifest of a run has them; policies with the same are one sentence.
    """
    by_text: dict[str, list[str]] = {}
    for one in policies:
        if one.get("waiting") and one["policy"] != OBSERVED:
            by_text.setdefault(_text(one["waiting"]), []).append(str(one["policy"]))
    return [f"{few(names)} never placed {text}" for text, names in by_text.items()]


def _text(found: Mapping[str, Any]) -> str:
    said = f"{count(found['containers'], 'container')} in the first order of arrival"
    if found["gone"] == found["containers"]:
        return f"{said}; {'it' if found['gone'] == 1 else 'they'} left before there was room"
    kinds = found["kinds"]
    named = sum(kind["containers"] for kind in kinds)
    more = found["containers"] - found["gone"] - named
    others = [
        *([f"{more:,} of other services or sizes"] if more else []),
        *([f"{found['gone']:,} that left before there was room"] if found["gone"] else []),
    ]
    return f"{said}: {'; '.join([*map(_kind_text, kinds), *others])}"


def _kind_text(kind: Mapping[str, Any]) -> str:
    # every pod counts as one
    asked = {name: amount for name, amount in kind["request"].items() if name != PODS}
    asks = listed([_amount(amount, name) for name, amount in asked.items()])
    who = f"{kind['containers']:,} of {kind['service']} ({asks or 'nothing'} requested)"
    why = [_why(name, nodes, kind) for name, nodes in kind["in_the_way"].items()]
    return f"{who}: {', '.join(why)}" if why else who


def _amount(amount: int, name: str) -> str:
    """An amount that says of what it is: bytes are of memory or of a disk."""
    of = f" of {_resource(name)}" if name.endswith("_bytes") else ""
    return f"{amount_text(amount, name)}{of}"


def _resource(name: str) -> str:
    return words_of(short_names([name])[0])


def _why(name: str, nodes: int, kind: Mapping[str, Any]) -> str:
    """The reasons on so many nodes; what is free at most is told where no node has enough."""
    have, are = ("has", "is") if nodes == 1 else ("have", "are")
    on, most_free = count(nodes, "node"), kind["most_free"]
    if name.startswith(NOBODY):
        return name
    if name in most_free:
        most = max(most_free[name], 0)
        enough = most >= kind["request"][name]
        free = "" if enough else f" ({amount_text(most, name)} at most)"
        return f"{on} {have} too little {_resource(name)} free{free}"
    if name == GANG:
        return f"{on} {have} room, but not for enough of its gang"
    if name == HELD:
        return f"{on} {have} room, which a gang held until the end"
    if name == RULES:
        return f"{on} {have} room, but {are} closed by {RULES}"
    return f"{on} {are} gone" if name == "gone" else told(name, nodes)
