"""The replayed part of a store with sizes: nodes, containers with lives and requests."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.cluster.assembly.amounts import Amounts, amounts_of
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.further import columns_used, with_disk_io
from tracekit.cluster.assembly.lives import Lives, lives
from tracekit.cluster.assembly.set_aside import (
    fit_somewhere,
    placeable,
    without_gated,
    without_lacking,
    without_waiting,
)
from tracekit.cluster.assembly.sizes import Sizes, sizes_of
from tracekit.cluster.assembly.use import CONTAINERS, NODES, measured
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.losses import without
from tracekit.cluster.nodes import Losses
from tracekit.cluster.workload import Workload
from tracekit.store.broken_rows import all_rejected
from tracekit.store.folder import Store
from tracekit.store.node_states import absences, gone_for_good
from tracekit.store.stored_rows import LISTS
from tracekit.store.views import read

#: Production is shown where this share of the containers it placed is on nodes that are listed.
_KNOWN_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """Nodes and containers, these in the order of their arrival.

    Parameters
    ----------
    rows : DataFrame
        What the store says of each container.
    where, recorded : int64, shape (containers,)
        The node that each ran on, -1 where none is known; ``recorded`` is all -1 where it is known
        of few.
    request : int64, shape (containers, resources)
    gated : int
        How many containers are not asked of any policy, as no scheduler may place them yet.
    waiting : tuple of Fact
        Of those that wait for a node in production, and are left out.
    places_waiting : bool
        Whether containers that wait for a node in production are to be placed.
    too_large : tuple of int
        Those that are left out because they fit on no node: rows of ``found.containers``.
    lacking : tuple of (int, str)
        Those that are left out because no node has what they ask for, likewise, and what it is.
    """

    found: Sizes
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
        found=found,
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
    """Names of the nodes, in the order of the source; of assumed ones where it records none."""
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
    """Lives without the daemons of nodes that are set aside: they belong to their node."""
    if not len(found.set_aside):
        return life
    rows = found.containers[life.order]
    gone = rows["node"].is_in(found.set_aside.implode()) & (rows["daemon"].fill_null(0) > 0)
    return life.taken(np.flatnonzero(~gone.fill_null(value=False).to_numpy()))


def _shown(names: pl.Series, where: IntArray) -> IntArray:
    """The node that each container ran on in production; none at all if few are known.

    A row of production that lacks most containers compares with nothing.
    """
    placed = len(names) - names.null_count()
    known = int((where >= 0).sum())
    return where if known >= _KNOWN_SHARE * placed else np.full_like(where, -1)


def _positions(names: pl.Series, nodes: Sequence[str]) -> IntArray:
    known = pl.DataFrame({"node": nodes, "at": np.arange(len(nodes))})
    found = pl.DataFrame({"node": names}).join(known, on="node", how="left", maintain_order="left")
    return np.asarray(found["at"].fill_null(-1).to_numpy().astype(np.int64))


def with_node_lives(load: Workload, store: Store, nodes: pl.DataFrame, life: Lives) -> Workload:
    """The workload with nodes closed before they came, while they are away and after they left.

    Parameters
    ----------
    nodes : DataFrame
        First rows of the table ``node``, in the order of the workload. A node that a container ran
        on was there by then, whenever its first row is of.
    life : Lives
        The containers of the workload, in its order.
    """
    if not nodes.height:
        return load
    left = gone_for_good(read(store, "node")).select("node", left_ms="time_ms")
    times = nodes.select("node", "time_ms").join(left, on="node", how="left", maintain_order="left")
    end = int(load.use.times_ms[-1]) + load.use.step_ms
    gone = {
        at: when
        for at, when in enumerate(times["left_ms"].to_list())
        if when is not None and when < end
    }
    start = int(load.use.times_ms[0])
    ran_from = np.where(life.there, start, life.arrival_ms)
    came = _came_ms(load, times["time_ms"].to_numpy().astype(np.int64), ran_from)
    late = np.flatnonzero(came > start)
    if len(gone) == load.nodes.count or len(late) == load.nodes.count:
        return load
    made = _joined(load, late[np.argsort(came[late], kind="stable")], came) if len(late) else load
    made = with_absences(made, store, nodes)
    return without(made, gone) if gone else made


def _came_ms(load: Workload, first_ms: IntArray, ran_from_ms: IntArray) -> IntArray:
    """When each node came: when it is first spoken of, or something that ran there arrived."""
    came = first_ms.copy()
    ran = load.containers.recorded_node >= 0
    np.minimum.at(came, load.containers.recorded_node[ran], ran_from_ms[ran])
    return came


def _joined(load: Workload, late: IntArray, came: IntArray) -> Workload:
    names = [load.nodes.ids[at] for at in late.tolist()]
    background = np.array(load.use.background)
    for node in late.tolist():
        background[:, load.use.times_ms < came[node], node] = 0.0
    return dataclasses.replace(
        load,
        use=dataclasses.replace(load.use, background=background),
        nodes=dataclasses.replace(load.nodes, joins=Losses(node=late, time_ms=came[late])),
        provenance=dataclasses.replace(
            load.provenance,
            remarks=(
                *load.provenance.remarks,
                remark("node_came", len(late), "nodes", names=names),
            ),
        ),
    )


def with_absences(load: Workload, store: Store, nodes: pl.DataFrame) -> Workload:
    """The workload with nodes closed while they are away; what runs there then is evicted.

    A daemon of such a node ends when it leaves, and one that would come meanwhile does not: what
    runs there afterwards is a new one.

    Parameters
    ----------
    nodes : DataFrame
        Nodes of the workload, in its order.
    """
    away = absences(read(store, "node"))
    at = nodes.select("node").with_row_index("at")
    start, end = int(load.use.times_ms[0]), int(load.use.times_ms[-1]) + load.use.step_ms
    found = away.filter((pl.col("from_ms") > start) & (pl.col("from_ms") < end)).join(at, on="node")
    if not found.height:
        return load
    node, left, back = (
        found[name].to_numpy().astype(np.int64) for name in ("at", "from_ms", "until_ms")
    )
    background = np.array(load.use.background)
    for one, since, until in zip(node.tolist(), left.tolist(), back.tolist(), strict=True):
        background[:, (load.use.times_ms >= since) & (load.use.times_ms < until), one] = 0.0
    none = Losses(node=np.empty(0, np.int64), time_ms=np.empty(0, np.int64))
    made = dataclasses.replace(
        load,
        use=dataclasses.replace(load.use, background=background),
        nodes=dataclasses.replace(
            load.nodes,
            losses=load.nodes.losses or none,
            leaves=_in_order(node, left),
            returns=_in_order(node, back),
        ),
    )
    return (
        made if load.rules.pinned is None else _unpinned(made, load.rules.pinned, node, left, back)
    )


def _in_order(node: IntArray, time_ms: IntArray) -> Losses:
    order = np.argsort(time_ms, kind="stable")
    return Losses(node=node[order], time_ms=time_ms[order])


def _unpinned(
    load: Workload, pinned: IntArray, node: IntArray, left: IntArray, back: IntArray
) -> Workload:
    """The workload in which nobody is pinned to a node that is away when he arrives."""
    arrival, departure = load.containers.arrival_ms, load.containers.departure_ms.copy()
    daemon: BoolArray = (
        np.zeros(load.containers.count, np.bool_)
        if load.rules.daemon is None
        else load.rules.daemon
    )
    away: BoolArray = np.zeros(load.containers.count, np.bool_)
    for one, since, until in zip(node.tolist(), left.tolist(), back.tolist(), strict=True):
        here = pinned == one
        away |= here & (since <= arrival) & (arrival < until)
        ends = here & daemon & (arrival < since)
        departure[ends] = np.minimum(departure[ends], since)
    made = dataclasses.replace(
        load,
        containers=dataclasses.replace(load.containers, departure_ms=departure),
        rules=dataclasses.replace(load.rules, pinned=np.where(away & ~daemon, -1, pinned)),
    )
    stays = ~(away & daemon)
    return (
        made
        if stays.all()
        else in_order_of(made, np.flatnonzero(stays), made.containers.arrival_ms)
    )
