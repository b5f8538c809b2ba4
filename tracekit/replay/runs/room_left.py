"""Why a container waits where nodes have room for it."""

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.gangs import enough_of
from tracekit.cluster.workload import Workload

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
    return load.gang is not None and bool(load.gang[index] >= 0)


def can_never_begin(load: Workload, index: int, node: IntArray) -> bool:
    """Whether so many of a container's gang left that the others wait in vain.

    Parameters
    ----------
    node : int64, shape (containers,)
        Where each was placed last, -1 for never: a gang that has begun once is not short.
    """
    if load.gang is None or load.gang[index] < 0:
        return False
    if load.gang_minimum is None or not load.gang_minimum[index]:
        # it begins with those that are left
        return False
    members = np.flatnonzero(load.gang == load.gang[index])
    left = load.departure_ms[members] > load.times_ms[-1]
    return bool((left | (node[members] >= 0)).sum() < enough_of(load, members))


def room_left(load: Workload, index: int, node: IntArray) -> str:
    """Why a container waits where there is room for it at the end, one of the words above.

    ``node`` is as in ``can_never_begin``.
    """
    if in_gang(load, index):
        return FEW_LEFT if can_never_begin(load, index, node) else GANG
    parts = () if load.constraints is None else load.constraints.parts
    about = [part for part in parts if not part.fixed and part.about[index]]
    if not about:
        return RULES if load.gang is None else HELD
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
