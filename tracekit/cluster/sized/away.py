"""Nodes that leave for a while and come back: nothing is placed there while they are away."""

import dataclasses

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.nodes import Losses
from tracekit.cluster.workload import Workload
from tracekit.store.folder import Store
from tracekit.store.node_states import absences
from tracekit.store.views import read


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
    start, end = int(load.times_ms[0]), int(load.times_ms[-1]) + load.step_ms
    found = away.filter((pl.col("from_ms") > start) & (pl.col("from_ms") < end)).join(at, on="node")
    if not found.height:
        return load
    node, left, back = (
        found[name].to_numpy().astype(np.int64) for name in ("at", "from_ms", "until_ms")
    )
    background = np.array(load.background)
    for one, since, until in zip(node.tolist(), left.tolist(), back.tolist(), strict=True):
        background[:, (load.times_ms >= since) & (load.times_ms < until), one] = 0.0
    none = Losses(node=np.empty(0, np.int64), time_ms=np.empty(0, np.int64))
    made = dataclasses.replace(
        load,
        background=background,
        losses=load.losses or none,
        leaves=_in_order(node, left),
        returns=_in_order(node, back),
    )
    return made if load.pinned is None else _unpinned(made, load.pinned, node, left, back)


def _in_order(node: IntArray, time_ms: IntArray) -> Losses:
    order = np.argsort(time_ms, kind="stable")
    return Losses(node=node[order], time_ms=time_ms[order])


def _unpinned(
    load: Workload, pinned: IntArray, node: IntArray, left: IntArray, back: IntArray
) -> Workload:
    """The workload in which nobody is pinned to a node that is away when he arrives."""
    arrival, departure = load.arrival_ms, load.departure_ms.copy()
    daemon: BoolArray = np.zeros(load.containers, np.bool_) if load.daemon is None else load.daemon
    away: BoolArray = np.zeros(load.containers, np.bool_)
    for one, since, until in zip(node.tolist(), left.tolist(), back.tolist(), strict=True):
        here = pinned == one
        away |= here & (since <= arrival) & (arrival < until)
        ends = here & daemon & (arrival < since)
        departure[ends] = np.minimum(departure[ends], since)
    made = dataclasses.replace(
        load, departure_ms=departure, pinned=np.where(away & ~daemon, -1, pinned)
    )
    stays = ~(away & daemon)
    return made if stays.all() else in_order_of(made, np.flatnonzero(stays), made.arrival_ms)
