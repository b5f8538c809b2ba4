"""Containers that ran on nodes which selectors or taints close to them now."""

from collections.abc import Sequence

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.base.facts import Fact, remark
from tracekit.cluster.constraints.constraint import Constraint
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.reasons import closed_nodes

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
                return closed_nodes(reason, 1).replace("1 node", "which", 1)
    return ""


def barred_remark(
    found: Sequence[tuple[int, str]], ran: IntArray, ids: Sequence[str], nodes: Sequence[str]
) -> tuple[Fact, ...]:
    """A fact of these containers, with the node of the first and why it is closed."""
    if not found:
        return ()
    at, why = found[0]
    names = [ids[one] for one, _ in found]
    return (
        remark("barred_now", len(found), "containers", names=names, node=nodes[ran[at]], why=why),
    )
