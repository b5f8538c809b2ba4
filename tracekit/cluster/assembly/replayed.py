"""The replayed part of a store with sizes: nodes, containers with lives and requests."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
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
from tracekit.store.broken_rows import all_rejected
from tracekit.store.folder import Store
from tracekit.store.never_ran import gated, waits
from tracekit.store.stored_rows import LISTS

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
