"""Nodes that come or leave within the recorded time: a replay has them while production had."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl

from tracekit.arrays import IntArray
from tracekit.replay.workload.losses import without
from tracekit.replay.workload.sized.times import Lives
from tracekit.replay.workload.workload import Losses, Workload
from tracekit.store import Store
from tracekit.store.doubts import gone_for_good
from tracekit.store.views import read

_NAMED = 5


def with_node_lives(load: Workload, store: Store, nodes: pl.DataFrame, life: Lives) -> Workload:
    """The workload with nodes closed before they came and after they left.

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
    end = int(load.times_ms[-1]) + load.step_ms
    gone = {
        at: when
        for at, when in enumerate(times["left_ms"].to_list())
        if when is not None and when < end
    }
    start = int(load.times_ms[0])
    ran_from = np.where(life.there, start, life.arrival_ms)
    came = _came_ms(load, times["time_ms"].to_numpy().astype(np.int64), ran_from)
    late = np.flatnonzero(came > start)
    if len(gone) == load.nodes or len(late) == load.nodes:
        return load
    made = _joined(load, late[np.argsort(came[late], kind="stable")], came) if len(late) else load
    return without(made, gone) if gone else made


def _came_ms(load: Workload, first_ms: IntArray, ran_from_ms: IntArray) -> IntArray:
    """When each node came: when it is first spoken of, or something that ran there arrived."""
    came = first_ms.copy()
    ran = load.recorded_node >= 0
    np.minimum.at(came, load.recorded_node[ran], ran_from_ms[ran])
    return came


def _joined(load: Workload, late: IntArray, came: IntArray) -> Workload:
    named = ", ".join(load.node_ids[at] for at in late[:_NAMED].tolist())
    more = f" and {len(late) - _NAMED:,} more" if len(late) > _NAMED else ""
    count = f"{len(late):,} nodes ({named}{more})" if len(late) > 1 else f"node {named}"
    sentence = f"{count} came within the recorded time; a replay places nothing there before"
    background = np.array(load.background)
    for node in late.tolist():
        background[:, load.times_ms < came[node], node] = 0.0
    return dataclasses.replace(
        load,
        background=background,
        joins=Losses(node=late, time_ms=came[late]),
        told=(*load.told, sentence),
    )
