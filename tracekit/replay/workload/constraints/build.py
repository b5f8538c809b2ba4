"""Constraints out of tables: nodes, their cells, containers, and rules on sharing.

What containers and nodes state is read and evaluated once for each distinct statement, so that a
cluster of any size costs what its distinct statements cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.constraints import documents
from tracekit.replay.workload.constraints.allowed import Allowed
from tracekit.replay.workload.constraints.apart import Apart
from tracekit.replay.workload.constraints.build_cells import cells_of
from tracekit.replay.workload.constraints.constraint import Constraint
from tracekit.replay.workload.constraints.constraints import Constraints
from tracekit.replay.workload.constraints.labels import Labels, alternatives, selected
from tracekit.replay.workload.constraints.sharing import AntiAffinity, Sharing
from tracekit.replay.workload.constraints.taints import (
    UNSCHEDULABLE,
    Taint,
    Toleration,
    taints,
    tolerations,
)
from tracekit.replay.workload.constraints.together import Together

T = TypeVar("T")


def constraints_of(
    nodes: pl.DataFrame,
    cells: pl.DataFrame | None,
    containers: pl.DataFrame,
    rules: pl.DataFrame | None,
    *,
    request: IntArray,
    capacity: IntArray,
    whole: Mapping[str, float] | None = None,
) -> Constraints | None:
    """The constraints that the tables state; None where they state none.

    Parameters
    ----------
    nodes : DataFrame
        A row per node, in the order of the workload: ``node`` and, where known, ``rack``,
        ``domain``, ``zone``, ``platform``, ``labels``, ``taints``, ``state`` (a node that is
        ``closed`` has Kubernetes' taint of such nodes).
    cells : DataFrame, optional
        Rows of ``node_resource`` that are valid at the start; those of whole nodes are left out. A
        node without cells of its own is one cell.
    containers : DataFrame
        A row per container, in the order of the workload: ``container`` and, where known,
        ``service``, ``selector``, ``tolerations``, ``daemon``, ``apart``, ``apart_domain``,
        ``apart_most``, ``together``, ``together_domain``, ``numa_cells``. A daemon is on its node
        whatever selectors and taints say. Groups keep apart and stay together by node unless the
        table says by what; that may be any label.
    rules : DataFrame, optional
        ``holder``, ``guest``, ``most``.
    request : int64, shape (containers, 2 or more)
        The workload's; cpu_milli and memory_bytes first.
    capacity : int64, shape (nodes, 2 or more)
        The workload's.
    whole : mapping, optional
        For cells of unit ``fraction``: what 1 is, of ``cpu`` in cores, of ``memory`` in bytes.

    Groups that keep apart, or together, by what no node states, as by rack where no rack is known,
    are left out: ``not_held`` counts them.

    Raises
    ------
    TracekitError
        For JSON that is broken, or none that selectors, taints, tolerations and labels are; it
        names the container or node.
    """
    labels = Labels(nodes)
    parts: list[Constraint | None] = [
        _selectors(labels, nodes, containers),
        _taints(nodes, containers),
        *_apart(labels, containers),
        *_together(labels, containers),
        _sharing(containers, rules),
        cells_of(nodes, cells, containers, request=request, capacity=capacity, whole=whole or {}),
    ]
    found = tuple(part for part in parts if part is not None)
    return Constraints(parts=found) if found else None


def not_held(nodes: pl.DataFrame, containers: pl.DataFrame) -> dict[str, int]:
    """Containers of groups by what no node states, by ``containers_not_held_apart_by_rack``.

    Parameters
    ----------
    nodes, containers : DataFrame
        As ``constraints_of`` takes them.
    """
    labels = Labels(nodes)
    return {
        f"containers_not_held_{column}_by_{by}": len(rows)
        for column in ("apart", "together")
        for by, _, rows in _groups(containers, column)
        if not labels.stated(by)
    }


def _selectors(labels: Labels, nodes: pl.DataFrame, containers: pl.DataFrame) -> Allowed | None:
    of, read = _statements(containers, "selector", alternatives)
    masks = [selected(labels, asked, nodes.height) if asked else None for asked in read]
    return _allowed("selector", of, masks, nodes.height)


def _taints(nodes: pl.DataFrame, containers: pl.DataFrame) -> Allowed | None:
    taint_of, known = _statements(nodes, "taints", taints, kind="node")
    known = [*known, ()]  # what -1 means
    closed = _closed(nodes)
    if not any(known) and not closed.any():
        return None
    of, read = _statements(containers, "tolerations", tolerations)
    of = np.where(_daemons(containers), -1, np.where(of < 0, len(read), of))
    masks: list[BoolArray | None] = []
    for tolerated in (*read, ()):
        fine = np.array([all(_bears(tolerated, taint) for taint in has) for has in known])
        mask = fine[taint_of]
        masks.append(mask if _bears(tolerated, UNSCHEDULABLE) else mask & ~closed)
    return _allowed("taints", of, masks, nodes.height)


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


def _allowed(label: str, of: IntArray, masks: list[BoolArray | None], nodes: int) -> Allowed | None:
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


def _apart(labels: Labels, containers: pl.DataFrame) -> list[Constraint]:
    parts: list[Constraint] = []
    for by, group, rows in _groups(containers, "apart"):
        if not labels.stated(by):
            continue
        most = np.ones(int(group.max()) + 1, dtype=np.int64)
        if "apart_most" in containers.columns:
            stated = containers["apart_most"].fill_null(1).cast(pl.Int64).to_numpy()
            most[:] = np.iinfo(np.int64).max
            np.minimum.at(most, group[rows], stated[rows])
        parts.append(Apart(by=by, group=group, domain=labels.domain(by), most=most))
    return parts


def _together(labels: Labels, containers: pl.DataFrame) -> list[Constraint]:
    return [
        Together(by=by, group=group, domain=labels.domain(by))
        for by, group, _ in _groups(containers, "together")
        if labels.stated(by)
    ]


def _groups(containers: pl.DataFrame, column: str) -> list[tuple[str, IntArray, IntArray]]:
    """By each kind of domain: the group of each container, -1 for none, and who is in one."""
    if column not in containers.columns or not containers[column].is_not_null().any():
        return []
    by_column = f"{column}_domain"
    by = containers[by_column] if by_column in containers.columns else pl.Series([None])
    frame = pl.DataFrame(
        {
            "group": containers[column].cast(pl.String),
            "by": by.cast(pl.String).extend_constant(None, containers.height - len(by)),
        }
    ).with_columns(pl.col("by").replace("", None).fill_null("node"))
    found = []
    for kind in frame.filter(pl.col("group").is_not_null())["by"].unique(maintain_order=True):
        mine = frame.with_columns(
            group=pl.when(pl.col("by") == kind, pl.col("group") != "").then("group")
        )["group"]
        rows = np.flatnonzero(mine.is_not_null().to_numpy())
        group = np.full(containers.height, -1, dtype=np.int64)
        group[rows] = np.unique(mine.drop_nulls().to_numpy(), return_inverse=True)[1]
        if len(rows):
            found.append((str(kind), group, rows))
    return found


def _sharing(containers: pl.DataFrame, rules: pl.DataFrame | None) -> Sharing | None:
    if rules is None or not rules.height or "service" not in containers.columns:
        return None
    services = tuple(
        pl.concat([rules["holder"], rules["guest"]]).cast(pl.String).unique(maintain_order=True)
    )
    position = {name: at for at, name in enumerate(services)}
    rows = [
        (position[str(holder)], position[str(guest)], int(most))
        for holder, guest, most in rules.select("holder", "guest", "most").iter_rows()
    ]
    limits = AntiAffinity(services=services, rules=np.array(rows, dtype=np.int64).reshape(-1, 3))
    return Sharing.of(limits, containers["service"].fill_null("").to_list())
