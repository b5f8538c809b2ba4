"""The replayed part of a store with sizes: nodes, containers with lives and requests.

Containers that never ran, or that request more than any node has, are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.cluster.assembly.further import columns_used, with_disk_io
from tracekit.cluster.assembly.lives import Lives, lives
from tracekit.cluster.assembly.sizes import Amounts, Sizes, amounts_of, sizes_of
from tracekit.cluster.assembly.use import CONTAINERS, NODES, measured, positions_in
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.constraints.constraint import Constraint
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.resources import amount_text
from tracekit.cluster.workload import fit_somewhere
from tracekit.store import never_ran
from tracekit.store.broken_rows import all_rejected
from tracekit.store.folder import Store
from tracekit.store.never_ran import gated, waits
from tracekit.store.stored_rows import LISTS

#: Where no node states these, what nodes have is an assumption.
_STATED = ("cpu", "memory", "pods")
#: Where this share waits, they are what is to be placed.
_MANY = 0.5


def without_waiting(
    store: Store, sizes: Sizes, life: Lives, assumptions: SizedAssumptions
) -> tuple[Lives, tuple[Fact, ...], bool]:
    """Return ``life`` without containers that never had a node in production, and facts of these.

    Production did not carry this load, so a policy that places it could not be compared with
    production. The assumption ``waiting`` may keep these containers. The third value is True if
    they are kept and the source states for every container whether it has a node.
    """
    rows = sizes.containers[life.order]
    waiting = rows.select(waits()).to_series().to_numpy()
    if not waiting.any():
        return life, (), False
    lists_every_pod = never_ran.lists_every_pod(store)
    if not _left_out(float(waiting.mean()), assumptions, lists_every_pod=lists_every_pod):
        return life, (), lists_every_pod
    waited = never_ran.waiting_fact("waiting_left_out", rows.filter(waiting), sizes.requests)
    return life.taken(np.flatnonzero(~waiting)), (waited,), False


def without_gated(sizes: Sizes, life: Lives) -> tuple[Lives, int]:
    """Return ``life`` without containers behind a scheduling gate, and the number of these.

    No scheduler may place such a container yet.
    """
    is_gated = sizes.containers[life.order].select(gated()).to_series().to_numpy()
    return (life.taken(np.flatnonzero(~is_gated)) if is_gated.any() else life), int(is_gated.sum())


def to_place_remark(rows: pl.DataFrame, requests: pl.DataFrame) -> tuple[Fact, ...]:
    """Return a fact of the containers that waited in production and are to be placed."""
    rows = rows.filter(waits())
    return (never_ran.waiting_fact("waiting_placed", rows, requests),) if rows.height else ()


def _left_out(share: float, assumptions: SizedAssumptions, *, lists_every_pod: bool) -> bool:
    if assumptions.waiting != "auto":
        return assumptions.waiting == "leave_out"
    return lists_every_pod and assumptions.start == "empty" and share < _MANY


def without_lacking(
    store: Store, sizes: Sizes, life: Lives
) -> tuple[Lives, tuple[tuple[int, str], ...]]:
    """Return ``life`` without containers that request a resource that no node has, and their rows.

    Only lists of Kubernetes name all resources of nodes, so other sources lose no container. If a
    container that requests the resource ran on some node, the record of what nodes have must be
    incomplete, and the resource is ignored. If no container were left, all stay.

    Returns
    -------
    Lives, tuple of (int, str)
        Of each container left out, the row in ``sizes.containers`` and the resource.
    """
    if not never_ran.lists_every_pod(store) or not sizes.nodes.height:
        return life, ()
    have = sizes.capacity.filter(pl.col("amount") > 0).select("resource").unique()
    missing = sizes.requests.filter(pl.col("request") > 0).join(have, on="resource", how="anti")
    requesting = missing.select("container", "resource").join(
        sizes.containers.with_row_index("at").select("container", "at", "node"), on="container"
    )
    ran = requesting.drop_nulls("node")
    requesting = requesting.join(ran, on="resource", how="anti").filter(
        ~pl.col("resource").is_in(_STATED)
    )
    lacks = dict(requesting.select("at", "resource").sort("at", "resource", descending=True).rows())
    staying = ~np.isin(life.order, list(lacks))
    if staying.all() or not staying.any():
        return life, ()
    gone = sorted(int(at) for at in life.order[~staying])
    return life.taken(np.flatnonzero(staying)), tuple((at, lacks[at]) for at in gone)


def placeable(life: Lives, amounts: Amounts) -> tuple[Lives, tuple[int, ...]]:
    """Return ``life`` without containers that are too large for every node, and the rows of these.

    Neither a policy nor production can place such a container, and a lower bound on nodes that
    counts it would be useless. If no container fits, all stay, and a later check
    raises an error that says why.
    """
    fitting = fit_somewhere(amounts.request[life.order], amounts.capacity)
    if fitting.all() or not fitting.any():
        return life, ()
    return life.taken(np.flatnonzero(fitting)), tuple(life.order[~fitting].tolist())


def too_large_remark(
    sizes: Sizes, amounts: Amounts, too_large: tuple[int, ...]
) -> tuple[Fact, ...]:
    """Return a fact of the containers that fit on no node, with the request of the first."""
    if not too_large:
        return ()
    room, requested = amounts.capacity.max(axis=0), amounts.request[too_large[0]]
    column = int(np.argmax(requested / np.maximum(room, 1)))
    resource = amounts.resources[column]
    return (
        remark(
            "too_large",
            len(too_large),
            "containers",
            names=[sizes.containers["container"][at] for at in too_large],
            request=amount_text(requested[column], resource),
            most=amount_text(room[column], resource),
        ),
    )


def lacking_remark(sizes: Sizes, lacking: tuple[tuple[int, str], ...]) -> tuple[Fact, ...]:
    """Return a fact of the containers that request a resource that no node has."""
    if not lacking:
        return ()
    names = [sizes.containers["container"][at] for at, _ in lacking]
    resources = ", ".join(sorted({what for _, what in lacking}))
    return (remark("lacking", len(lacking), "containers", names=names, resources=resources),)


def barred_now(constraints: Constraints | None, ran: IntArray) -> list[tuple[int, str]]:
    """Return the containers that run on a node that is closed to them now, each with the reason.

    Kubernetes evicts no container because of a selector, and for few taints, so such a container
    stays where it is. Only reasons that do not depend on other containers count.

    Parameters
    ----------
    ran : int64, shape (containers,)
        The node where each container ran; -1 for none.
    """
    parts = () if constraints is None else tuple(one for one in constraints.parts if one.fixed)
    at = np.flatnonzero(ran >= 0)
    if not parts or not len(at):
        return []
    nodes = next(one.nodes for one in parts if one.nodes is not None)
    kinds = np.stack([*(one.kinds[at] for one in parts), ran[at]], axis=1)
    _, first, of = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    why = [_why(parts, int(index), int(ran[index]), nodes) for index in at[first]]
    each = [(int(index), why[kind]) for index, kind in zip(at, of.reshape(-1), strict=True)]
    return [(index, reason) for index, reason in each if reason]


def _why(parts: Sequence[Constraint], index: int, node: int, nodes: int) -> str:
    for one in parts:
        for reason, mask in one.why(index, nodes).items():
            if mask[node]:
                return f"which {reason.of_one}"
    return ""


def barred_remark(
    barred: Sequence[tuple[int, str]], ran: IntArray, ids: Sequence[str], nodes: Sequence[str]
) -> tuple[Fact, ...]:
    """Return a fact of the containers in ``barred``, with the node and reason of the first."""
    if not barred:
        return ()
    at, why = barred[0]
    names = [ids[one] for one, _ in barred]
    return (
        remark("barred_now", len(barred), "containers", names=names, node=nodes[ran[at]], why=why),
    )


#: Production is shown where this share of the containers it placed is on nodes that are listed.
_KNOWN_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The nodes and containers of a replay; containers are in the order of their arrival.

    Parameters
    ----------
    rows : DataFrame
        The row of each container in the table ``container``.
    where, recorded : int64, shape (containers,)
        The node that each container ran on, -1 where it is not known. If the nodes of most
        containers are not known, ``recorded`` is -1 for all, because production cannot be compared
        then.
    request : int64, shape (containers, resources)
    gated : int
        Number of containers left out because no scheduler may place them yet.
    waiting : tuple of Fact
        Facts of containers that waited for a node in production and are left out.
    places_waiting : bool
        Whether containers that wait for a node in production are to be placed.
    too_large : tuple of int
        Rows of ``sizes.containers`` that are left out because they fit on no node.
    lacking : tuple of (int, str)
        Rows left out for a resource that no node has, each with this resource.
    """

    sizes: Sizes
    nodes: list[str]
    life: Lives
    amounts: Amounts
    rows: pl.DataFrame
    where: IntArray
    recorded: IntArray
    request: IntArray
    gated: int = 0
    waiting: tuple[Fact, ...] = ()
    places_waiting: bool = False
    waiting_too_large: int = 0
    too_large: tuple[int, ...] = ()
    lacking: tuple[tuple[int, str], ...] = ()

    @property
    def left_waiting(self) -> pl.DataFrame:
        """The rows of containers that are left out because they waited for a node in production."""
        waiting = self.sizes.containers.filter(waits() & ~gated())
        return waiting.join(self.rows, on="container", how="anti")


def replayed_of(store: Store, assumptions: SizedAssumptions, rng: np.random.Generator) -> Replayed:
    """Return the nodes and containers to replay. Raise TracekitError if there are none."""
    tables = sizes_of(store)
    for entity, listed in (("node", tables.nodes), ("container", tables.containers)):
        if not listed.height and (lost := all_rejected(store.manifest, LISTS[entity])):
            raise lost
    nodes = _nodes(tables, assumptions)
    if assumptions.disk_io == "recorded":
        tables = with_disk_io(store, tables, nodes)
    span = measured(store, CONTAINERS) or measured(store, NODES)
    life = lives(tables.containers, span, assumptions, rng, nodes)
    used = columns_used(store, assumptions).values()
    amounts = amounts_of(tables, nodes, assumptions, used)
    life = _without_daemons(life, tables)
    life, gated = without_gated(tables, life)
    every = life.order
    life, waiting, places_waiting = without_waiting(store, tables, life, assumptions)
    waited = np.setdiff1d(every, life.order)
    life, lacking = without_lacking(store, tables, life)
    life, too_large = placeable(life, amounts)
    rows = tables.containers[life.order]
    where = positions_in(rows["node"], nodes)
    return Replayed(
        sizes=tables,
        nodes=nodes,
        life=life,
        amounts=amounts,
        rows=rows,
        where=where,
        recorded=_shown(rows["node"], where),
        request=amounts.request[life.order],
        gated=gated,
        waiting=waiting,
        places_waiting=places_waiting,
        waiting_too_large=int((~fit_somewhere(amounts.request[waited], amounts.capacity)).sum()),
        too_large=too_large,
        lacking=lacking,
    )


#: How nodes that no source records are stated.
HOW_MANY = "--assume nodes=100 --assume node_cpu_cores=96 --assume node_memory_bytes=384GiB"


def _nodes(sizes: Sizes, assumptions: SizedAssumptions) -> list[str]:
    """Names of the nodes in the order of the source; names of assumed nodes if it records none."""
    if sizes.nodes.height:
        return sizes.nodes["node"].to_list()
    if not assumptions.nodes:
        raise TracekitError(
            "the store records no nodes, so there is nothing to place on",
            hint=f"say how many and how large: {HOW_MANY}",
        )
    digits = len(str(assumptions.nodes - 1))
    return [f"node-{at:0{digits}}" for at in range(assumptions.nodes)]


def _without_daemons(life: Lives, sizes: Sizes) -> Lives:
    """Lives without the daemons of nodes that are set aside: a daemon belongs to its node."""
    if not len(sizes.set_aside):
        return life
    rows = sizes.containers[life.order]
    gone = rows["node"].is_in(sizes.set_aside.implode()) & (rows["daemon"].fill_null(0) > 0)
    return life.taken(np.flatnonzero(~gone.fill_null(value=False).to_numpy()))


def _shown(names: pl.Series, where: IntArray) -> IntArray:
    """The node that each container ran on in production; -1 everywhere if few are known.

    Production's row would compare with nothing if it lacked most containers.
    """
    placed = len(names) - names.null_count()
    on_nodes = int((where >= 0).sum())
    return where if on_nodes >= _KNOWN_SHARE * placed else np.full_like(where, -1)
