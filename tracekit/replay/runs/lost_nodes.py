"""Nodes that are lost because that was asked, and what became of who lost a node or was evicted."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.varying import in_the_first
from tracekit.replay.workload.workload import Workload
from tracekit.units import duration
from tracekit.words import agreeing, and_more, counted, few

#: So many are named.
_NAMED = 5

Lost = Sequence[Mapping[str, Any]]


def lost_nodes(load: Workload) -> list[dict[str, Any]]:
    """The nodes that are lost by assumption, in the order of their times.

    Returns
    -------
    list of dict
        ``node``; ``after_ms``, since the beginning; ``drawn``: whether a number of nodes was asked
        for, and the seed chose this one.
    """
    if load.losses is None or load.losses.assumed is None:
        return []
    found, first, assumed = load.losses, int(load.times_ms[0]), load.losses.assumed
    drawn = assumed & False if found.drawn is None else found.drawn
    rows = zip(found.node.tolist(), found.time_ms.tolist(), drawn.tolist(), strict=True)
    return [
        {"node": load.node_ids[node], "after_ms": when - first, "drawn": by_seed}
        for (node, when, by_seed), asked in zip(rows, assumed.tolist(), strict=True)
        if asked
    ]


def lost_told(lost: Lost) -> str:
    """Who is lost and when, a sentence without its end; empty for nobody."""
    if not lost:
        return ""
    named = [f"{one['node']} after {duration(one['after_ms'])}" for one in lost]
    drawn = sum(bool(one["drawn"]) for one in lost)
    every = (
        ", which the seed drew" if drawn == len(lost) else f"; the seed drew {few(_drawn(lost))}"
    )
    return (
        f"{agreeing(len(lost), '[node is|nodes are] lost')}:"
        f" {and_more(named[:_NAMED], len(named))}{every if drawn else ''}"
    )


def counts_as_needed(lost: Lost) -> str:
    """The same in a study of the fewest nodes, of which lost ones are no less needed."""
    them = "it counts" if len(lost) == 1 else "they count"
    return f"{lost_told(lost)}; {them} as needed, as load is there before" if lost else ""


def no_other_loss(lost: Lost) -> str:
    """What an answer does not cover where the seed chose who is lost; empty where it did not."""
    names = _drawn(lost)
    if not names:
        return ""
    others = "another node" if len(names) == 1 else "other nodes"
    return f"the loss of {others} than {few(names)}"


def _drawn(lost: Lost) -> list[str]:
    return [str(one["node"]) for one in lost if one["drawn"]]


def displaced_told(summary: pl.DataFrame, *, orders: int = 1) -> list[str]:
    """What became of containers that lost their node, and of evicted ones; sentences without ends.

    Policies with the same are one sentence. Of a summary without such measures there are none.

    Parameters
    ----------
    summary : DataFrame
        As ``summary.parquet``.
    orders : int
        How many orders of arrival there were; a summary has such counts of the first.
    """
    told, first = [], in_the_first(orders)
    for counts, words in (
        (("evicted_by_loss", "unplaced_after_loss"), _lost_theirs),
        (("evictions", "unplaced_after_eviction"), _were_evicted),
    ):
        alike: dict[tuple[int, int], list[str]] = {}
        if set(counts) <= set(summary.columns):
            for policy, many, unplaced in summary.select("policy", *counts).drop_nulls().rows():
                # production evicts nobody for this, and need not be told of
                if many or policy != OBSERVED:
                    alike.setdefault((many, unplaced), []).append(policy)
        told += [f"under {few(names)}{first} {words(*found)}" for found, names in alike.items()]
    return told


def _lost_theirs(many: int, unplaced: int) -> str:
    if not many:
        return "no container lost its node"
    lost = agreeing(many, "[container lost its|containers lost their] node")
    if not unplaced:
        return f"{lost} and found another"
    if unplaced == many:
        return f"{lost} and found no other"
    return f"{lost}: {unplaced:,} found no other, {many - unplaced:,} did"


def _were_evicted(many: int, unplaced: int) -> str:
    if not many:
        return "no container was evicted for one of higher priority"
    times = f"{counted(many, 'eviction')} made room for containers of higher priority"
    if not unplaced:
        return f"{times}; all that were evicted ran again"
    return f"{times}; {counted(unplaced, 'evicted container')} found no other node"
