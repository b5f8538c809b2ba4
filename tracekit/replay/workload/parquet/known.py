"""How what a workload folder states is known: in the words of a store, as ingest finds it."""

from collections.abc import Collection

import polars as pl

from tracekit.replay.workload.domains import KINDS
from tracekit.replay.workload.resources import BASE, DISK, DISK_IO, NET
from tracekit.store.quantities import ABSENT, INFERRED, NAMES, RECORDED

_USED = "use of containers"


def rests_on(
    nodes: pl.DataFrame, containers: pl.DataFrame, usage: pl.DataFrame, *, calls: bool
) -> dict[str, str]:
    """For each quantity of a store ``recorded``, ``inferred`` or ``absent``.

    A store made of the same files has the same, but for columns that a replay does not read.

    Parameters
    ----------
    calls : bool
        Whether calls between services are known.
    """
    further = set(nodes.columns) - {"node", *KINDS}
    limits = [name for name in containers.columns if "_limit_" in name]
    there = {
        "node sizes": nodes.height > 0,
        "requests": _any(containers, {*BASE, *further}),
        "limits": _any(containers, limits),
        _USED: usage.height > 0,
        "network in use": _any(usage, {NET}),
        "disk in use": _any(usage, {DISK, DISK_IO}),
        "placement": _any(containers, {"node"}),
        "arrivals": containers.height > 0,
        "departures": _any(containers, {"departure_ms"}),
        "priorities": _any(containers, {"priority"}),
        "fault domains": _any(nodes, KINDS),
        "calls": calls,
        "prices": _any(nodes, {"price_per_hour"}),
    }
    known = {name: RECORDED if there.get(name) else ABSENT for name in NAMES}
    if there[_USED] and there["placement"]:
        # a node uses what those on it do
        known["use of nodes"] = INFERRED
    return known


def _any(frame: pl.DataFrame, columns: Collection[str]) -> bool:
    """Whether some row has a value in one of the columns."""
    return any(frame[name].is_not_null().any() for name in columns if name in frame.columns)
