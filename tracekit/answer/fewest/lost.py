"""What comes of a cluster that loses one of its zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import polars as pl

from tracekit.answer.admissible import PENDING
from tracekit.answer.fewest.limits import CPU, MEMORY
from tracekit.answer.fewest.trials import Trials, worst
from tracekit.answer.fewest.zones import zones_among
from tracekit.base.arrays import IntArray

#: The cases of the frame of zones: the cluster as it is, and the nodes that stay.
TODAY, KEPT = "today", "kept"


@dataclass(frozen=True, kw_only=True)
class LostZone:
    """One zone that is lost, a row of the frame of zones; each value is of the worst order.

    Parameters
    ----------
    nodes : int
        So many are lost with it.
    waiting_containers : int
        Containers that find no node then, beyond those that find none with nothing lost; also
        those that may run in this zone alone.
    cpu_p99_over_time_fraction, memory_max_fraction : float
        Of the fullest node.
    breaks_measure, breaks_value, breaks_allowed : optional
        The limit that does not hold then; None where all do.
    """

    zone: str
    nodes: int
    waiting_containers: int
    cpu_p99_over_time_fraction: float
    memory_max_fraction: float
    breaks_measure: str | None
    breaks_value: float | None
    breaks_allowed: float | None


def lost_zones(tried: Trials, nodes: IntArray) -> tuple[LostZone, ...]:
    """Each zone of these nodes, lost by itself; none where no loss has to be survived."""
    if not tried.survive:
        return ()
    return tuple(_lost(tried, nodes, *one) for one in zones_among(tried.load, nodes))


def _lost(tried: Trials, stay: IntArray, zone: str, nodes: int) -> LostZone:
    usual = tried.each(lambda order: tried.came(order, stay).row)
    after = tried.each(lambda order: tried.after(order, stay, zone))
    rows, broken = tried.each(lambda order: tried.came(order, stay, zone).row), worst(after)
    more = [row[PENDING] - before[PENDING] for row, before in zip(rows, usual, strict=True)]
    return LostZone(
        zone=zone,
        nodes=nodes,
        waiting_containers=max(*more, 0),
        cpu_p99_over_time_fraction=max(row[CPU] for row in rows),
        memory_max_fraction=max(row[MEMORY] for row in rows),
        breaks_measure=None if broken is None else broken.measure,
        breaks_value=None if broken is None else broken.value,
        breaks_allowed=None if broken is None else broken.allowed,
    )


def frame_of(case: str, policy: str, zones: Sequence[LostZone]) -> pl.DataFrame:
    """A row for each zone: case, policy, and the fields of ``LostZone``."""
    texts = dict.fromkeys(("case", "policy", "breaks_measure"), pl.String)
    numbers = dict.fromkeys(("breaks_value", "breaks_allowed"), pl.Float64)
    rows = [{"case": case, "policy": policy, **asdict(one)} for one in zones]
    return pl.DataFrame(rows, schema_overrides={**texts, **numbers})


def zones_on(
    frames: Mapping[str, pl.DataFrame], policy: str, *, as_production: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The zones of a study today, and on the nodes that stay under a policy; empty if not known."""
    every = frames.get("zones", pl.DataFrame(schema={"case": pl.String, "policy": pl.String}))
    after = frames.get("zones_as_production", every.clear()) if as_production else every
    return every.filter(case=TODAY), after.filter(case=KEPT, policy=policy)
