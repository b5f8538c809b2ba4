"""Containers that ran on nodes which selectors or taints close to them now."""

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.workload.constraints.constraint import Constraint
from tracekit.replay.workload.constraints.constraints import Constraints
from tracekit.replay.workload.constraints.reasons import told
from tracekit.words import counted

#: So many containers are named.
_NAMED = 3


def barred_now(constraints: Constraints | None, ran: IntArray) -> list[tuple[int, str]]:
    """The containers whose own node is closed to them, each with what closes it, a clause.

    Kubernetes evicts nobody for most taints and for no selector, so that who was there before
    stays. Only what does not depend on who runs where is asked.

    Parameters
    ----------
    ran : int64, shape (containers,)
        The node where each ran; -1 for none that counts.
    """
    parts = () if constraints is None else tuple(one for one in constraints.parts if one.fixed)
    at = np.flatnonzero(ran >= 0)
    if not parts or not len(at):
        return []
    nodes = next(one.nodes for one in parts if one.nodes is not None)
    kinds = np.stack([*(one.kinds[at] for one in parts), ran[at]], axis=1)
    _, first, of = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    why = [_why(parts, int(index), int(ran[index]), nodes) for index in at[first]]
    found = [(int(index), why[kind]) for index, kind in zip(at, of.reshape(-1), strict=True)]
    return [(index, reason) for index, reason in found if reason]


def _why(parts: Sequence[Constraint], index: int, node: int, nodes: int) -> str:
    for one in parts:
        for reason, mask in one.why(index, nodes).items():
            if mask[node]:
                return told(reason, 1).replace("1 node", "which", 1)
    return ""


def barred_told(
    found: Sequence[tuple[int, str]], ran: IntArray, ids: Sequence[str], nodes: Sequence[str]
) -> tuple[str, ...]:
    """A sentence that counts them and names the first; none where there are none."""
    if not found:
        return ()
    named = "; ".join(f"{ids[at]} on {nodes[ran[at]]}, {why}" for at, why in found[:_NAMED])
    more = f"; and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    one = len(found) == 1
    return (
        (
            f"{counted(len(found), 'container')} ran where {'its' if one else 'their'}"
            f" selector or a taint closes the node now, and no policy places"
            f" {'it' if one else 'them'} there: {named}{more}"
        ),
    )
