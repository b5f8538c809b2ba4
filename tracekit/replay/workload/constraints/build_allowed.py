"""Where selectors and taints let containers run: each distinct statement is read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.constraints import documents
from tracekit.replay.workload.constraints.allowed import Allowed
from tracekit.replay.workload.constraints.labels import Labels, alternatives, selected
from tracekit.replay.workload.constraints.taints import (
    UNSCHEDULABLE,
    Taint,
    Toleration,
    taints,
    tolerations,
)

T = TypeVar("T")


class Suited:
    """The nodes that selectors select, and those whose taints containers bear.

    Parameters
    ----------
    nodes, containers : DataFrame
        As ``constraints_of`` takes them.
    """

    def __init__(self, labels: Labels, nodes: pl.DataFrame, containers: pl.DataFrame) -> None:
        self._nodes, self._daemons = nodes.height, _daemons(containers)
        self._asking, read = _statements(containers, "selector", alternatives)
        self._selected = [selected(labels, one, nodes.height) if one else None for one in read]
        self._taint_of, known = _statements(nodes, "taints", taints, kind="node")
        self._taints = [*known, ()]  # what -1 means
        self._closed = _closed(nodes)
        bearing, self._tolerated = _statements(containers, "tolerations", tolerations)
        self._bearing = np.where(bearing < 0, len(self._tolerated), bearing)

    def selectors(self) -> Allowed | None:
        """The constraint that selectors make."""
        return _allowed("selector", self._asking, self._selected, self._nodes)

    def taints(self) -> Allowed | None:
        """The constraint that taints make."""
        if not any(self._taints) and not self._closed.any():
            return None
        masks = [self._borne(tolerated) for tolerated in (*self._tolerated, ())]
        of = np.where(self._daemons, -1, self._bearing)
        return _allowed("taints", of, masks, self._nodes)

    def selects(self, at: int) -> BoolArray:
        """The nodes that the selector of a container selects, shape (nodes,)."""
        mask = None if self._asking[at] < 0 else self._selected[self._asking[at]]
        return np.ones(self._nodes, dtype=np.bool_) if mask is None else mask

    def bears(self, at: int) -> BoolArray:
        """The nodes whose taints a container bears, shape (nodes,)."""
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
    """One class for each distinct mask; None where every container may run anywhere."""
    rows: dict[bytes, int] = {}
    kept: list[BoolArray] = []
    row_of = np.full(len(masks) + 1, -1, dtype=np.int64)  # the last is that of -1
    for at in np.unique(of[of >= 0]).tolist():
        mask = masks[at]
        if mask is None or mask.all():
            continue
        key = np.packbits(mask).tobytes()
        if key not in rows:
            rows[key] = len(kept)
            kept.append(mask)
        row_of[at] = rows[key]
    if not kept:
        return None
    return Allowed(label=label, of=row_of[of], mask=np.stack(kept).reshape(-1, nodes))


def _statements(
    frame: pl.DataFrame, column: str, read: Callable[[str], T], *, kind: str = "container"
) -> tuple[IntArray, list[T]]:
    """The distinct statements of a column, read, and which one each row makes, -1 for none.

    A daemon's are not read: it is on its node already.
    """
    if column not in frame.columns:
        return np.full(frame.height, -1, dtype=np.int64), []
    texts = frame[column].cast(pl.String).to_list()
    daemons = _daemons(frame).tolist()
    known: dict[str, int] = {}
    found: list[T] = []
    of = np.full(frame.height, -1, dtype=np.int64)
    for at, (text, daemon) in enumerate(zip(texts, daemons, strict=True)):
        if not text or daemon:
            continue
        if text not in known:
            known[text] = len(found)
            try:
                found.append(read(text))
            except ValueError as wrong:
                raise documents.broken(kind, frame[kind][at], column, text, wrong) from wrong
        of[at] = known[text]
    return of, found
