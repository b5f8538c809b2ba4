"""The replayed part of a store with sizes: nodes, containers with lives and requests.

Containers that never ran, or that request more than any node has, are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.cluster.assembly.further import columns_used, with_disk_io
from tracekit.cluster.assembly.lives import Lives, lives
from tracekit.cluster.assembly.sizes import Amounts, Sizes, amounts_of, sizes_of
from tracekit.cluster.assembly.use import CONTAINERS, NODES, measured
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.constraints.constraint import Constraint
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.resources import amount_text
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
    store: Store, found: Sizes, life: Lives, assumptions: SizedAssumptions
) -> tuple[Lives, tuple[Fact, ...], bool]:
    """The lives without containers that waited in production throughout, and a fact of these.

    Load that production could not place is load that it did not carry. A policy that places it
    would be compared with nothing. The third value says whether other containers that waited are
    placed.
    """
    rows = found.containers[life.order]
    who = rows.select(waits()).to_series().to_numpy()
    if not who.any():
        return life, (), False
    says_so = never_ran.says_so(store)
    if not _left_out(float(who.mean()), assumptions, says_so=says_so):
        return life, (), says_so
    waited = never_ran.waiting_fact("waiting_left_out", rows.filter(who), found.requests)
    return life.taken(np.flatnonzero(~who)), (waited,), False


def without_gated(found: Sizes, life: Lives) -> tuple[Lives, int]:
    """The lives without containers that no scheduler may place yet, and the number of these."""
    who = found.containers[life.order].select(gated()).to_series().to_numpy()
    return (life.taken(np.flatnonzero(~who)) if who.any() else life), int(who.sum())


def to_place_remark(rows: pl.DataFrame, requests: pl.DataFrame) -> tuple[Fact, ...]:
    """A fact of the containers that waited in production and are to be placed."""
    rows = rows.filter(waits())
    return (never_ran.waiting_fact("waiting_placed", rows, requests),) if rows.height else ()


def _left_out(share: float, assumptions: SizedAssumptions, *, says_so: bool) -> bool:
    if assumptions.waiting != "auto":
        return assumptions.waiting == "leave_out"
    return says_so and assumptions.start == "empty" and share < _MANY


def without_lacking(
    store: Store, found: Sizes, life: Lives
) -> tuple[Lives, tuple[tuple[int, str], ...]]:
    """The lives without containers that request a resource that no node has, and these containers.

    Kubernetes lists all resources of a node. If a container with such a request ran all the same,
    the amounts of nodes are not recorded, and the container stays. All stay if no life were left.

    Returns
    -------
    Lives, tuple of (int, str)
        The row of each such container in ``found.containers``, and the resource.
    """
    if not never_ran.says_so(store) or not found.nodes.height:
        return life, ()
    have = found.capacity.filter(pl.col("amount") > 0).select("resource").unique()
    asked = found.requests.filter(pl.col("request") > 0).join(have, on="resource", how="anti")
    who = asked.select("container", "resource").join(
        found.containers.with_row_index("at").select("container", "at", "node"), on="container"
    )
    ran = who.drop_nulls("node")
    who = who.join(ran, on="resource", how="anti").filter(~pl.col("resource").is_in(_STATED))
    lacks = dict(who.select("at", "resource").sort("at", "resource", descending=True).rows())
    kept = ~np.isin(life.order, list(lacks))
    if kept.all() or not kept.any():
        return life, ()
    gone = sorted(int(at) for at in life.order[~kept])
    return life.taken(np.flatnonzero(kept)), tuple((at, lacks[at]) for at in gone)


def placeable(life: Lives, amounts: Amounts) -> tuple[Lives, tuple[int, ...]]:
    """The lives without containers that fit on no node, even an empty one, and these containers.

    No policy can place such a container, and production could not. A bound that counts it would
    bound nothing. All stay if no other container were left, so that the error can say why.
    """
    kept = fit_somewhere(amounts, life.order)
    if kept.all() or not kept.any():
        return life, ()
    return life.taken(np.flatnonzero(kept)), tuple(life.order[~kept].tolist())


def fit_somewhere(amounts: Amounts, order: IntArray) -> BoolArray:
    """Which containers of an order fit on some node while it is empty, shape (containers,)."""
    shapes, of = np.unique(amounts.request[order], axis=0, return_inverse=True)
    fits = [(amounts.capacity >= shape).all(axis=1).any() for shape in shapes]
    return np.array(fits, dtype=np.bool_)[of.reshape(-1)]


def too_large_remark(
    found: Sizes, amounts: Amounts, too_large: tuple[int, ...]
) -> tuple[Fact, ...]:
    """A fact of the containers that fit on no node, with the request of the first."""
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
            names=[found.containers["container"][at] for at in too_large],
            request=amount_text(requested[column], resource),
            most=amount_text(room[column], resource),
        ),
    )


def lacking_remark(found: Sizes, lacking: tuple[tuple[int, str], ...]) -> tuple[Fact, ...]:
    """A fact of the containers that request a resource that no node has."""
    if not lacking:
        return ()
    names = [found.containers["container"][at] for at, _ in lacking]
    resources = ", ".join(sorted({what for _, what in lacking}))
    return (remark("lacking", len(lacking), "containers", names=names, resources=resources),)


#: So many containers are named.
_NAMED = 3


def barred_now(constraints: Constraints | None, ran: IntArray) -> list[tuple[int, str]]:
    """Containers whose own node is closed to them, each with the reason.

    Kubernetes evicts no container for a selector, and for few taints, so a container that was there
    before stays. Only reasons that do not depend on other containers count.

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
    found = [(int(index), why[kind]) for index, kind in zip(at, of.reshape(-1), strict=True)]
    return [(index, reason) for index, reason in found if reason]


def _why(parts: Sequence[Constraint], index: int, node: int, nodes: int) -> str:
    for one in parts:
        for reason, mask in one.why(index, nodes).items():
            if mask[node]:
                return f"which {reason.of_one}"
    return ""


def barred_remark(
    found: Sequence[tuple[int, str]], ran: IntArray, ids: Sequence[str], nodes: Sequence[str]
) -> tuple[Fact, ...]:
    """A fact of these containers, with the node of the first and the reason why it is closed."""
    if not found:
        return ()
    at, why = found[0]
    names = [ids[one] for one, _ in found]
    return (
        remark("barred_now", len(found), "containers", names=names, node=nodes[ran[at]], why=why),
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
        The node that each container ran on, -1 where it is not known. ``recorded`` is -1
        everywhere if the nodes of most containers are not known.
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
        Rows that are left out because no node has a resource that they request, and that
        resource.
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
        """Rows of containers that waited for a node in production and are left out."""
        waiting = self.sizes.containers.filter(waits() & ~gated())
        return waiting.join(self.rows, on="container", how="anti")


def replayed_of(store: Store, assumptions: SizedAssumptions, rng: np.random.Generator) -> Replayed:
    """The nodes and containers to replay; raises TracekitError where there are none."""
    found = sizes_of(store)
    for entity, listed in (("node", found.nodes), ("container", found.containers)):
        if not listed.height and (lost := all_rejected(store.manifest, LISTS[entity])):
            raise lost
    nodes = _nodes(found, assumptions)
    if assumptions.disk_io == "recorded":
        found = with_disk_io(store, found, nodes)
    span = measured(store, CONTAINERS) or measured(store, NODES)
    life = lives(found.containers, span, assumptions, rng, nodes)
    used = columns_used(store, assumptions).values()
    amounts = amounts_of(found, nodes, assumptions, used)
    life = _without_daemons(life, found)
    life, gated = without_gated(found, life)
    every = life.order
    life, waiting, places_waiting = without_waiting(store, found, life, assumptions)
    waited = np.setdiff1d(every, life.order)
    life, lacking = without_lacking(store, found, life)
    life, too_large = placeable(life, amounts)
    rows = found.containers[life.order]
    where = _positions(rows["node"], nodes)
    return Replayed(
        sizes=found,
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
        waiting_too_large=int((~fit_somewhere(amounts, waited)).sum()),
        too_large=too_large,
        lacking=lacking,
    )


#: How nodes that no source records are stated.
HOW_MANY = "--assume nodes=100 --assume node_cpu_cores=96 --assume node_memory_bytes=384GiB"


def _nodes(found: Sizes, assumptions: SizedAssumptions) -> list[str]:
    """Names of the nodes in the order of the source; names of assumed nodes if it records none."""
    if found.nodes.height:
        return found.nodes["node"].to_list()
    if not assumptions.nodes:
        raise TracekitError(
            "the store records no nodes, so there is nothing to place on",
            hint=f"say how many and how large: {HOW_MANY}",
        )
    digits = len(str(assumptions.nodes - 1))
    return [f"node-{at:0{digits}}" for at in range(assumptions.nodes)]


def _without_daemons(life: Lives, found: Sizes) -> Lives:
    """Lives without the daemons of nodes that are set aside: a daemon belongs to its node."""
    if not len(found.set_aside):
        return life
    rows = found.containers[life.order]
    gone = rows["node"].is_in(found.set_aside.implode()) & (rows["daemon"].fill_null(0) > 0)
    return life.taken(np.flatnonzero(~gone.fill_null(value=False).to_numpy()))


def _shown(names: pl.Series, where: IntArray) -> IntArray:
    """The node that each container ran on in production; -1 everywhere if few are known.

    Production's row would compare with nothing if it lacked most containers.
    """
    placed = len(names) - names.null_count()
    known = int((where >= 0).sum())
    return where if known >= _KNOWN_SHARE * placed else np.full_like(where, -1)


def _positions(names: pl.Series, nodes: Sequence[str]) -> IntArray:
    known = pl.DataFrame({"node": nodes, "at": np.arange(len(nodes))})
    found = pl.DataFrame({"node": names}).join(known, on="node", how="left", maintain_order="left")
    return np.asarray(found["at"].fill_null(-1).to_numpy().astype(np.int64))
