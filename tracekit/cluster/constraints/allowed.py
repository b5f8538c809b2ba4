"""The nodes open to containers: selectors and taints, read once per distinct statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.constraints.constraint import Constraint, Reason, everywhere
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.labels import (
    UNSCHEDULABLE,
    Labels,
    Taint,
    Toleration,
    alternatives,
    selected,
    statements,
    taints,
    tolerations,
)
from tracekit.cluster.constraints.reasons import Reasons, of_selectors, of_taints


@dataclass(frozen=True, kw_only=True, eq=False)
class Allowed(Constraint):
    """The nodes that selectors or taints leave open to each container, whatever else runs there.

    Parameters
    ----------
    of : int64, shape (containers,)
        The row of ``mask`` for each container; -1 for one that may run anywhere.
    mask : bool, shape (classes, nodes)
        Whether the node is open to the containers of a class, which have the same open nodes.
    reasons : Reasons, optional
        The reasons that close nodes.
    """

    fixed: ClassVar[bool] = True
    only_closes: ClassVar[bool] = True

    of: IntArray
    mask: BoolArray
    reasons: Reasons | None = None

    @property
    def kinds(self) -> IntArray:
        """The row of ``mask`` for each container; -1 for one that may run anywhere."""
        return self.of

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.mask.shape[1])

    def taken(self, order: IntArray) -> Self:
        """Return the constraint for the containers at these positions, in this order."""
        why = None if self.reasons is None else self.reasons.taken(order)
        return replace(self, of=self.of[order], reasons=why)

    def on(self, nodes: IntArray) -> Self:
        """Return the constraint for the nodes at these positions alone."""
        why = None if self.reasons is None else self.reasons.on(nodes)
        return replace(self, mask=self.mask[:, nodes], reasons=why)

    def why(self, index: int, nodes: int) -> dict[Reason, BoolArray]:
        """Return each reason that closes nodes to a container, with the mask of these nodes.

        ``nodes`` is the number of nodes. If the constraint has no ``reasons``, the name of the
        constraint is the only reason.
        """
        return self.reasons.closed(index) if self.reasons else super().why(index, nodes)

    def keeper(self, nodes: int) -> AllowedKeeper:
        """Return the state for one replay on this number of nodes; placements do not change it."""
        return AllowedKeeper(self, nodes)


class AllowedKeeper:
    """The open nodes of each class in a replay; placements do not change them."""

    def __init__(self, allowed: Allowed, nodes: int) -> None:
        self._of = allowed.of.tolist()
        # the last row is that of -1
        self._rows = np.concatenate([allowed.mask, everywhere(nodes)[None]])

    def open(self, index: int) -> BoolArray:
        """Return the mask of nodes that are open to the container's class, shape (nodes,)."""
        return np.asarray(self._rows[self._of[index]])

    def add(self, index: int, node: int) -> None:
        """Do nothing: placements do not change open nodes."""

    def remove(self, index: int, node: int) -> None:
        """Do nothing: placements do not change open nodes."""


class Suited:
    """For each container, the nodes that its selector selects, and those whose taints it tolerates.

    Parameters
    ----------
    nodes, containers : DataFrame
        As ``constraints_of`` takes them.
    """

    def __init__(self, labels: Labels, nodes: pl.DataFrame, containers: pl.DataFrame) -> None:
        self._nodes, self._daemons = nodes.height, _daemons(containers)
        self._labels = labels
        self._asking, self._alternatives = statements(
            containers, "selector", alternatives, self._daemons
        )
        self._selected = [
            selected(labels, one, nodes.height) if one else None for one in self._alternatives
        ]
        self._taint_of, distinct = statements(nodes, "taints", taints)
        self._taints = [*distinct, ()]  # what -1 means
        self._closed = _closed(nodes)
        bearing, self._tolerated = statements(containers, "tolerations", tolerations, self._daemons)
        self._bearing = np.where(bearing < 0, len(self._tolerated), bearing)

    def selectors(self) -> Allowed | None:
        """Return the constraint that selectors make, or None if they close no node."""
        allowed = _allowed("selector", self._asking, self._selected, self._nodes)
        why = of_selectors(self._labels, self._asking, self._alternatives, self._nodes)
        return None if allowed is None else replace(allowed, reasons=why)

    def taints(self) -> Allowed | None:
        """Return the constraint of taints and of closed nodes, or None if they close no node."""
        if not any(self._taints) and not self._closed.any():
            return None
        masks = [self._borne(tolerated) for tolerated in (*self._tolerated, ())]
        of = np.where(self._daemons, -1, self._bearing)
        allowed = _allowed("taints", of, masks, self._nodes)
        return None if allowed is None else replace(allowed, reasons=self._why_tainted(of))

    def _why_tainted(self, of: IntArray) -> Reasons | None:
        every = {one: None for has in self._taints for one in has if one != UNSCHEDULABLE}
        each = [[one in has for has in self._taints] for one in every]
        of_list = np.array(each, dtype=np.bool_).reshape(len(every), len(self._taints))
        cordoned = np.array([UNSCHEDULABLE in has for has in self._taints])[self._taint_of]
        borne = [
            [*(_bears(tolerated, one) for one in every), _bears(tolerated, UNSCHEDULABLE)]
            for tolerated in (*self._tolerated, ())
        ]
        return of_taints(
            of,
            borne,
            (*every, None),
            np.vstack([of_list[:, self._taint_of], cordoned | self._closed]),
        )

    def selects(self, at: int) -> BoolArray:
        """Return the nodes that the selector of a container selects, shape (nodes,)."""
        mask = None if self._asking[at] < 0 else self._selected[self._asking[at]]
        return np.ones(self._nodes, dtype=np.bool_) if mask is None else mask

    def bears(self, at: int) -> BoolArray:
        """Return the nodes whose taints a container tolerates, shape (nodes,)."""
        return self._borne((*self._tolerated, ())[self._bearing[at]])

    def _borne(self, tolerated: tuple[Toleration, ...]) -> BoolArray:
        fine = np.array([all(_bears(tolerated, one) for one in has) for has in self._taints])
        mask = fine[self._taint_of]
        return np.asarray(mask if _bears(tolerated, UNSCHEDULABLE) else mask & ~self._closed)


def _daemons(containers: pl.DataFrame) -> BoolArray:
    if "daemon" not in containers.columns:
        return np.zeros(containers.height, dtype=np.bool_)
    return np.asarray(containers["daemon"].fill_null(0).to_numpy() > 0)


def _bears(tolerated: tuple[Toleration, ...], taint: Taint) -> bool:
    return any(one.tolerates(taint) for one in tolerated)


def _closed(nodes: pl.DataFrame) -> BoolArray:
    if "state" not in nodes.columns:
        return np.zeros(nodes.height, dtype=np.bool_)
    return np.asarray((nodes["state"].fill_null("ready") == "closed").to_numpy(), dtype=np.bool_)


def _allowed(
    label: str, of: IntArray, masks: Sequence[BoolArray | None], nodes: int
) -> Allowed | None:
    """The constraint with a class for each distinct mask; None where every node is open to all."""
    rows: dict[bytes, int] = {}
    distinct: list[BoolArray] = []
    row_of = np.full(len(masks) + 1, -1, dtype=np.int64)  # the last is that of -1
    for at in np.unique(of[of >= 0]).tolist():
        mask = masks[at]
        if mask is None or mask.all():
            continue
        key = np.packbits(mask).tobytes()
        if key not in rows:
            rows[key] = len(distinct)
            distinct.append(mask)
        row_of[at] = rows[key]
    if not distinct:
        return None
    return Allowed(label=label, of=row_of[of], mask=np.stack(distinct).reshape(-1, nodes))


def nowhere(
    constraints: Constraints | None, request: IntArray, capacity: IntArray
) -> list[tuple[int, str]]:
    """Return the containers for which every large enough node is closed, even while nothing runs.

    Only selectors, taints and NUMA cells are considered, not what other containers may open or
    close.

    Parameters
    ----------
    request : int64, shape (containers, resources)
    capacity : int64, shape (nodes, resources)

    Returns
    -------
    list of (int, str)
        Positions of the containers, each with the reasons that close the nodes that are large
        enough. A container that is too large for every node is not among them.
    """
    every = () if constraints is None else constraints.parts
    parts = tuple(one for one in every if one.only_closes)
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
        why.append(_why(parts, index, large) if shut else "")
    reasons = np.array(why, dtype=object)[of.reshape(-1)]
    return [(at, str(reason)) for at, reason in enumerate(reasons) if reason]


def _why(parts: Sequence[Constraint], index: int, large: BoolArray) -> str:
    """The reasons that close the large enough nodes, and how many nodes are too small."""
    masks = {reason: mask for one in parts for reason, mask in one.why(index, len(large)).items()}
    counts = {reason: int((mask & large).sum()) for reason, mask in masks.items()}
    counts[Reason("are", "too small")] = int((~large & ~np.any([*masks.values()], axis=0)).sum())
    return ", ".join(reason.of(count) for reason, count in counts.items() if count)
