"""Samples of nodes that are one moment beside a history of what runs on them."""

from collections.abc import Sequence

from tracekit.store.manifest import DERIVED, Manifest, SourceEntry
from tracekit.units import MS_PER_MINUTE, duration

#: Samples of nodes count where they cover at least this share of the time of the containers'.
_LEAST_SHARE = 0.5
#: So far apart lie the samples of one answer of metrics-server: a scrape's time, twice.
_ONE_ANSWER_MS = 2 * MS_PER_MINUTE


def is_moment(manifest: Manifest) -> bool:
    """Whether samples of nodes cover so little that sums over their containers say more.

    The answer of metrics-server is one moment: beside a day of use of containers it would stand for
    the whole day. Beside use of containers that is one answer, too, it is what it says.
    """
    nodes, containers = (_span_ms(_of(manifest, f"{one}_amount")) for one in ("node", "container"))
    if nodes is None or containers is None or containers <= _ONE_ANSWER_MS:
        return False
    return nodes < _LEAST_SHARE * containers


def told(manifest: Manifest) -> str:
    """A sentence if nodes' use is left aside as too short; empty otherwise."""
    if not is_moment(manifest):
        return ""
    nodes, containers = (_span_ms(_of(manifest, f"{one}_amount")) for one in ("node", "container"))
    how_long = f"over {duration(nodes)}" if nodes else "for one moment"
    return (
        f"use of nodes is recorded {how_long}, that of containers over {duration(containers or 0)}:"
        " the former is left aside, and a node uses what its containers use together"
    )


def _of(manifest: Manifest, table: str) -> list[SourceEntry]:
    return [one for one in manifest.parts(table) if one.rows and one.release != DERIVED]


def _span_ms(entries: Sequence[SourceEntry]) -> int | None:
    """From the first to the last time of some parts; None where they have no rows."""
    firsts = [one.time_min_ms for one in entries if one.time_min_ms is not None]
    lasts = [one.time_max_ms for one in entries if one.time_max_ms is not None]
    return max(lasts) - min(firsts) if firsts and lasts else None
