"""Surveys a usage table before its matrix is made: times, entities, step between samples.

A stretch of rows of one entity with times that do not fall gives its gaps at once, and leaves its
ends behind. Where the stretches of an entity follow each other, ends give the gaps between them;
where they cross, the rows of that entity are read again.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Int32Array, IntArray
from tracekit.cluster.series import Gaps, commonest, gaps_of
from tracekit.cluster.trace.rows import TIME, Piece, UsageTable

#: So many counted values wait to be added up, and so many rows are sorted at once.
_WAITING = 1 << 20
_SORTED_ROWS = 1 << 24


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What a table holds.

    Parameters
    ----------
    times : DataFrame
        time_ms, rows: how many complete rows each time has.
    rows, incomplete : int
        Complete rows, and those left out.
    entities : int
        How many entities have a complete row.
    step_ms : int, optional
        The commonest gap between an entity's samples; None where samples are too thin to tell.
    """

    times: pl.DataFrame
    rows: int
    incomplete: int
    entities: int
    step_ms: int | None

    @property
    def moments(self) -> IntArray:
        """Every time of the table, shape (times,)."""
        return self.times["time_ms"].to_numpy()


def survey(table: UsageTable) -> Survey:
    """Look through the times of a table once; more often only where stretches cross."""
    times, gaps, ends = _Tally(), _Tally(), _Ends(table.keys)
    incomplete = 0
    for piece, missing in table.pieces(TIME, table.entity):
        incomplete += missing
        if not len(piece[TIME]):
            continue
        stretches = _Stretches(piece, table.entity)
        times.add(stretches.time)
        gaps.add(stretches.gaps())
        ends.add(stretches)
    entities = int((ends.rows > 0).sum())
    crossed, between = ends.joined()
    gaps.add(between)
    for chosen in _blocks(crossed, ends.rows):
        _correct(gaps, table, chosen)
    counted = times.counts().rename({"value": "time_ms", "len": "rows"})
    found = gaps.counts().rename({"value": "gap"})
    return Survey(
        times=counted,
        rows=int(ends.rows.sum()),
        incomplete=incomplete,
        entities=entities,
        step_ms=commonest(found, entities),
    )


class _Stretches:
    """The rows of a piece, cut where the entity changes or time falls."""

    def __init__(self, piece: Piece, entity: str) -> None:
        self.time = piece[TIME].astype(np.int64, copy=False)
        self.entity = piece[entity]
        self._gap = np.diff(self.time)
        self._goes_on = (self.entity[1:] == self.entity[:-1]) & (self._gap >= 0)

    def gaps(self, of: BoolArray | None = None) -> IntArray:
        """Gaps inside the stretches, of all entities or of some."""
        inside = self._goes_on & (self._gap > 0)
        return np.asarray(self._gap[inside if of is None else inside & of[self.entity[1:]]])

    def ends(self) -> tuple[IntArray, IntArray]:
        """The first and the last row of each stretch."""
        cuts = np.flatnonzero(~self._goes_on)
        return np.concatenate([[0], cuts + 1]), np.concatenate([cuts, [len(self.time) - 1]])


class _Ends:
    """The ends of all stretches, and the rows of each entity."""

    def __init__(self, keys: int) -> None:
        self.rows = np.zeros(keys, dtype=np.int64)
        self._found: list[tuple[Int32Array, IntArray, IntArray]] = []

    def add(self, stretches: _Stretches) -> None:
        """Take the stretches of a piece in."""
        first, last = stretches.ends()
        entity = stretches.entity[first]
        np.add.at(self.rows, entity, last - first + 1)
        self._found.append((entity, stretches.time[first], stretches.time[last]))

    def joined(self) -> tuple[IntArray, IntArray]:
        """Entities whose stretches cross, and the gaps between the stretches of all others."""
        if not self._found:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        entity, first, last = (np.concatenate(part) for part in zip(*self._found, strict=True))
        self._found = []
        order = np.lexsort((first, entity))
        entity, first, last = entity[order], first[order], last[order]
        same, gap = entity[1:] == entity[:-1], first[1:] - last[:-1]
        crossed = np.unique(entity[1:][same & (gap < 0)])
        return crossed, gap[same & (gap > 0) & ~np.isin(entity[1:], crossed)]


class _Tally:
    """How often each value was met."""

    def __init__(self) -> None:
        self._counts: list[pl.DataFrame] = []
        self._waiting = 0

    def add(self, values: IntArray, sign: int = 1) -> None:
        """Count values in, or out."""
        self.add_counts(pl.Series("value", values).value_counts(name="len"), sign)

    def add_counts(self, counts: pl.DataFrame, sign: int = 1) -> None:
        """Count values in, or out, that are counted already: value, len."""
        self._counts.append(counts.with_columns(pl.col("len").cast(pl.Int64) * sign))
        self._waiting += counts.height
        if self._waiting > _WAITING:
            self._counts = [self.counts()]
            self._waiting = 0

    def counts(self) -> pl.DataFrame:
        """Value and len, of values met at all."""
        empty = pl.DataFrame(schema={"value": pl.Int64, "len": pl.Int64})
        summed = pl.concat([empty, *self._counts]).group_by("value").agg(pl.col("len").sum())
        return summed.filter(pl.col("len") > 0)


def _blocks(crossed: IntArray, rows: IntArray) -> Iterator[BoolArray]:
    """The entities, so many at a time that their rows can be sorted in memory; a mask of keys."""
    block = np.cumsum(rows[crossed]) // _SORTED_ROWS
    for number in np.unique(block):
        chosen = np.zeros(len(rows), dtype=np.bool_)
        chosen[crossed[block == number]] = True
        yield chosen


def _correct(gaps: _Tally, table: UsageTable, chosen: BoolArray) -> None:
    """Put the true gaps of some entities in place of those inside their stretches."""
    rows = []
    for piece, _ in table.pieces(TIME, table.entity):
        stretches = _Stretches(piece, table.entity)
        gaps.add(stretches.gaps(chosen), sign=-1)
        here = chosen[stretches.entity]
        columns = {"entity": stretches.entity[here], "time_ms": stretches.time[here]}
        rows.append(pl.DataFrame(columns))
    true: Gaps = gaps_of(pl.concat(rows), "entity")
    gaps.add_counts(true.rename({"gap": "value"}))
