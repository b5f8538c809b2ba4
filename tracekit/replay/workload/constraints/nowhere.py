"""Who may run on no node at all, however empty the cluster is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.constraints.constraints import Constraints

#: So many containers are named.
_NAMED = 3


def nowhere(
    constraints: Constraints | None, request: IntArray, capacity: IntArray
) -> list[tuple[int, str]]:
    """Containers without a node that is large enough and that no selector or taint closes.

    Only what does not depend on who runs where is asked.

    Parameters
    ----------
    request : int64, shape (containers, resources)
    capacity : int64, shape (nodes, resources)

    Returns
    -------
    list of (int, str)
        Positions of the containers, each with what closes the nodes that are large enough. One that
        is too large for every node is not among them.
    """
    parts = () if constraints is None else tuple(one for one in constraints.parts if one.fixed)
    if not parts:
        return []
    kinds = np.stack([*(one.kinds for one in parts), *request.T], axis=1)
    _, first, of = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    keeper = Constraints(parts=parts).keeper(len(capacity))
    why: list[str] = []
    for index in first.tolist():
        large: BoolArray = np.asarray((capacity >= request[index]).all(axis=1))
        closed = [(name, mask & large) for name, mask in keeper.closed(index)]
        shut = large.any() and np.any([mask for _, mask in closed], axis=0)[large].all()
        why.append(" and ".join(name for name, mask in closed if mask.any()) if shut else "")
    found = np.array(why, dtype=object)[of.reshape(-1)]
    return [(at, str(reason)) for at, reason in enumerate(found) if reason]


def told_of(found: Sequence[tuple[int, str]], ids: Sequence[str]) -> tuple[str, ...]:
    """A sentence that counts them and names the first; none where there are none."""
    if not found:
        return ()
    named = ", ".join(f"{ids[at]} ({reason})" for at, reason in found[:_NAMED])
    more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    who, them = ("container", "it") if len(found) == 1 else ("containers", "them")
    sentence = (
        f"{len(found):,} {who} may run on no node, however empty: {named}{more}; every policy"
        f" leaves {them} waiting"
    )
    return (sentence,)
