"""What comes of a cluster that loses one of its zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.answer.admissible import PENDING
from tracekit.answer.fewest.limits import CPU, MEMORY, Margin
from tracekit.answer.fewest.trials import Trials, worst
from tracekit.answer.fewest.zones import zones_among
from tracekit.base.arrays import IntArray

#: The cases of the frame of zones: the cluster as it is, and the nodes that stay.
TODAY, KEPT = "today", "kept"
CASES = {TODAY: "Today, when a zone is lost", KEPT: "On the nodes that stay, when a zone is lost"}
SCHEMA: Mapping[str, Any] = {
    "case": pl.String,
    "policy": pl.String,
    "zone": pl.String,
    "nodes": pl.Int64,
    "waiting_containers": pl.Int64,
    CPU: pl.Float64,
    MEMORY: pl.Float64,
    "breaks_measure": pl.String,
    "breaks_value": pl.Float64,
    "breaks_allowed": pl.Float64,
}


@dataclass(frozen=True, kw_only=True)
class LostZone:
    """One zone that is lost, in the worst order of arrival by each value.

    Parameters
    ----------
    nodes : int
        So many are lost with it.
    waiting : int
        Containers that find no node then, beyond those that find none with nothing lost.
    cpu_fraction, memory_fraction : float
        Of the fullest node, as the ceiling has it.
    broken : Margin, optional
        The limit that does not hold then.
    """

    zone: str
    nodes: int
    waiting: int
    cpu_fraction: float
    memory_fraction: float
    broken: Margin | None


def lost_zones(tried: Trials, kept: IntArray) -> tuple[LostZone, ...]:
    """Each zone of these nodes, lost by itself; none where no loss has to be survived."""
    if not tried.survive:
        return ()
    return tuple(_lost(tried, kept, *one) for one in zones_among(tried.load, kept))


def _lost(tried: Trials, kept: IntArray, zone: str, nodes: int) -> LostZone:
    usual = tried.each(lambda order: tried.came(order, kept).row)
    after = tried.each(lambda order: tried.after(order, kept, zone))
    rows = [one.row for one in after]
    more = [row[PENDING] - before[PENDING] for row, before in zip(rows, usual, strict=True)]
    return LostZone(
        zone=zone,
        nodes=nodes,
        waiting=max(*more, 0),
        cpu_fraction=max(row[CPU] for row in rows),
        memory_fraction=max(row[MEMORY] for row in rows),
        broken=worst(after),
    )


def frame_of(case: str, policy: str, zones: Sequence[LostZone]) -> pl.DataFrame:
    """A row for each zone, with the columns of ``SCHEMA``."""
    rows = [
        {
            "case": case,
            "policy": policy,
            "zone": one.zone,
            "nodes": one.nodes,
            "waiting_containers": one.waiting,
            CPU: one.cpu_fraction,
            MEMORY: one.memory_fraction,
            "breaks_measure": one.broken and one.broken.measure,
            "breaks_value": one.broken and one.broken.value,
            "breaks_allowed": one.broken and one.broken.allowed,
        }
        for one in zones
    ]
    return pl.DataFrame(rows, schema=dict(SCHEMA))
