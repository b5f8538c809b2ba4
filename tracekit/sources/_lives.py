"""Lives of containers out of their events, which may be spread over many files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from tracekit.sources._cluster import Opened

#: Lives that are held before those of one container are joined.
_HELD_ROWS = 4_000_000


@dataclass(frozen=True)
class Parts:
    """The files of one kind that are ingested together, in the order of their names.

    A life begins in one file and ends in another, so the first of them tells all lives.
    """

    files: tuple[Opened, ...]
    first: bool

    @classmethod
    def of(cls, opened: Opened, word: str) -> Parts:
        """The files beside this one, and whether it is the first; a member of a tar is alone."""
        files = {_place(one): one for one in opened.beside.get(word, ())}
        if _place(opened) not in files:
            return cls((opened,), first=True)
        ordered = sorted(files)
        return cls(tuple(files[at] for at in ordered), ordered[0] == _place(opened))

    @staticmethod
    def same(one: Opened, other: Opened) -> bool:
        """Whether both are one file, opened once or twice."""
        return _place(one) == _place(other)


def _place(opened: Opened) -> tuple[str, str]:
    return str(opened.path), opened.name


def lives(events: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """One row for each container: when it first came, and when it left for good.

    A container that is put back into the queue after it was evicted or failed lives on. It leaves
    with the last end that no new start follows; of events of one time the later row counts. If its
    start is unknown, its life begins with the first event. Lives come in order of arrival.

    Parameters
    ----------
    events : frames of events, in any order
        ``container``, ``time_ms``, ``start`` and ``end`` (bool), ``line``; the first known value
        of every further column is kept.
    """
    held: list[pl.DataFrame] = []
    rows = 0
    for frame in events:
        held.append(_joined(_lives(frame)))
        rows += held[-1].height
        if rows > _HELD_ROWS:
            held = [_joined(pl.concat(held, how="vertical_relaxed"))]
            rows = held[0].height
    if held:
        whole = _joined(pl.concat(held, how="vertical_relaxed"))
        departed = pl.when("ended").then("last_ms").alias("departure_ms")
        arrived = pl.coalesce("start_ms", "first_ms").alias("time_ms")
        yield whole.select(
            arrived, departed, pl.exclude("start_ms", "first_ms", "last_ms", "ended")
        ).sort("time_ms", maintain_order=True)


def _lives(events: pl.DataFrame) -> pl.DataFrame:
    turning = pl.col("start") | pl.col("end")
    return events.select(
        pl.exclude("time_ms", "start", "end"),
        pl.col("time_ms").alias("first_ms"),
        pl.when("start").then("time_ms").alias("start_ms"),
        pl.when(turning).then("time_ms").alias("last_ms"),
        pl.when(turning).then("end").alias("ended"),
    )


def _joined(rows: pl.DataFrame) -> pl.DataFrame:
    earliest, last = ["first_ms", "start_ms"], ["last_ms", "ended"]
    ordered = rows.sort("first_ms", maintain_order=True)
    by_end = pl.col(last).sort_by("last_ms", nulls_last=False, maintain_order=True)
    return ordered.group_by("container", maintain_order=True).agg(
        pl.exclude("container", *earliest, *last).drop_nulls().first(),
        pl.col(earliest).min(),
        by_end.last(),
    )
