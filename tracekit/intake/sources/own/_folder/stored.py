"""Rows of a folder's file that state otherwise what the store has of an ingest before: rejects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl

from tracekit.base.units import EPOCH_FROM_MS, in_stored_unit
from tracekit.intake.sources._cluster import Batch, Broken, Opened
from tracekit.intake.sources._stood import as_it_stands, row_text
from tracekit.intake.sources.own._folder.columns import LABEL, LIMIT, Measure
from tracekit.intake.sources.own._folder.repeats import WHOLE, differs, told_again

#: The columns of each table that say what its rows are about, the entity first; beside the time.
_ABOUT: Mapping[str, Sequence[str]] = {
    "node": ("node",),
    "node_resource": ("node", "resource", "cell", "unit"),
    "container": ("container",),
    "container_resource": ("container", "resource", "unit"),
}
#: Where a row stands is no statement, and the time of a size is not one, but of a container is.
_PASSED_OVER = frozenset({"line", "position"})
_TIME = "time_ms"
_DOCUMENTS = ("labels", "rules", "selector", "tolerations", "taints")
#: What stored rows say of themselves: the file, and whether another source states them.
_FILE, _FOREIGN = "file\0", "foreign\0"
_FIRST, _ROW = "\0stored", "row\0"


class Stored:
    """Finds the rows of which some table of the store has something else already.

    What another source states of a node or a container holds all the time; of what a folder
    stated before, a row of a later time may be a change.
    """

    def __init__(self, opened: Opened) -> None:
        self._tables = {
            table: _known(pl.read_parquet(opened.stored[table]), table)
            for table in _ABOUT
            if table in opened.stored
        }

    def apart(
        self,
        frame: pl.DataFrame,
        batches: Sequence[Batch],
        measures: Sequence[Measure] | None = None,
    ) -> list[Batch | Broken]:
        """The batches of a block without such rows, and a reject for each row of the file.

        Parameters
        ----------
        frame : DataFrame
            The rows of the file.
        measures : sequence of Measure, optional
            The columns of a wide file that hold amounts; None of a table of the store's own, of
            which a row may state another size from a later time on.
        """
        found: dict[int, list[dict[str, object]]] = {}
        for batch in batches:
            for one in self._otherwise(batch, may_change=measures is None):
                found.setdefault(int(str(one["line"])), []).append(one)
        if not found:
            return list(batches)
        table = batches[0].table
        lines = pl.Series(list(found), dtype=pl.Int64).implode()
        wrong = [
            self._broken(table, row, found[int(row["line"])], measures)
            for row in frame.filter(pl.col("line").is_in(lines)).iter_rows(named=True)
        ]
        stay = [replace(one, rows=one.rows.filter(~pl.col("line").is_in(lines))) for one in batches]
        return [*wrong, *stay]

    def _broken(
        self,
        table: str,
        row: Mapping[str, object],
        found: Sequence[Mapping[str, object]],
        measures: Sequence[Measure] | None,
    ) -> Broken:
        now, first = dict(row), dict[str, object]()
        for one in found:
            column, said, kept = in_terms_of(row, one, measures)
            now.pop(f"{column}\0", None)
            now[column], first[column] = said, kept
        keys = [one for one in (*_ABOUT[table], _TIME) if one in row and one != "unit"]
        keys = [one for one in keys if one != _TIME or table != "container_resource"]
        where = f"what the store has of {found[0][_FILE]}"
        reason = told_again(now, first, keys, list(first), where)
        return Broken(table=table, line=int(str(row["line"])), reason=reason, text=row_text(row))

    def _otherwise(self, batch: Batch, *, may_change: bool) -> Iterator[dict[str, object]]:
        """Line, resource, column, what the row says of it, what the store has, of which file."""
        stored = self._tables.get(batch.table)
        if stored is None or not batch.rows.height:
            return
        about = _ABOUT[batch.table]
        rows = _as_texts(batch.rows, about).with_row_index(_ROW)
        both = _in_force(rows.join(stored, on=list(about)), batch.table, may_change=may_change)
        for name in batch.rows.columns:
            if name in {*about, *_PASSED_OVER} or name + _FIRST not in both.columns:
                continue
            if name == _TIME and batch.table != "container":
                continue
            for row in _differing(both, name, batch.table).iter_rows(named=True):
                yield {
                    "line": row["line"],
                    "resource": row.get("resource"),
                    "column": name,
                    "now": row[name],
                    "first": row[name + _FIRST],
                    _FILE: row[_FILE],
                }


def _differing(both: pl.DataFrame, name: str, table: str) -> pl.DataFrame:
    """The rows that say something else of a column, or more where nothing can be added."""
    now, first = pl.col(name), pl.col(name + _FIRST)
    other = differs(now.cast(pl.String), first.cast(pl.String))
    if table in WHOLE:
        other |= first.is_null() & now.is_not_null() & (now.cast(pl.String) != "")
    found = both.filter(other)
    if name not in _DOCUMENTS or not found.height:
        return found
    pairs = found.select(name, name + _FIRST).iter_rows()
    merged = table == "node" and name == "labels"
    return found.filter(pl.Series([not _agree(*pair, merged=merged) for pair in pairs]))


def _agree(now: str, first: str | None, *, merged: bool) -> bool:
    """Whether two documents say the same; of those that are merged, nothing else of one thing."""
    try:
        one, other = json.loads(now), json.loads(first or "null")
    except (ValueError, RecursionError):
        return False
    if merged and isinstance(one, dict) and isinstance(other, dict):
        return all(str(other.get(key, value)) == str(value) for key, value in one.items())
    return bool(one == other)


def _in_force(both: pl.DataFrame, table: str, *, may_change: bool) -> pl.DataFrame:
    """Each row with the stored one that it is held against: the one that holds at its time.

    What another source states and a row without a time state is held against the last.
    """
    time, since = pl.col(_TIME), pl.col(_TIME + _FIRST)
    timeless = (time < EPOCH_FROM_MS) & (since >= EPOCH_FROM_MS)
    if table == "node":
        # of a node more may be stated from a later time on: that it is closed, or has left
        both = both.filter(
            pl.when(_FOREIGN).then(timeless | (time <= since)).otherwise(time == since)
        )
    elif table == "node_resource":
        both = both.filter(pl.col(_FOREIGN) | (time == since))
    by_then = timeless | (time >= since) if table != "container" else pl.lit(value=True)
    ordered = both.with_columns(
        by_then.alias("then\0"), pl.when(by_then).then(since).otherwise(-since).alias("near\0")
    ).sort(_ROW, "then\0", "near\0", maintain_order=True)
    chosen = ordered.unique(_ROW, keep="last", maintain_order=True)
    if table == "container_resource" and may_change:
        chosen = chosen.filter(pl.col(_FOREIGN) | (time <= since))
    return chosen


def _known(rows: pl.DataFrame, table: str) -> pl.DataFrame:
    """Stored rows under names of their own; of what another source states, only its rows."""
    about = list(_ABOUT[table])
    texts = _as_texts(rows, about).drop("line")
    foreign = texts.filter(_FOREIGN)
    every = pl.concat(
        [foreign, texts.filter(~pl.col(_FOREIGN)).join(foreign, on=about, how="anti")]
    )
    own = {*about, _FILE, _FOREIGN}
    return every.rename({one: one + _FIRST for one in every.columns if one not in own})


def _as_texts(rows: pl.DataFrame, about: Iterable[str]) -> pl.DataFrame:
    """The rows with all values as texts but times, which are numbers; keys are never NULL."""
    lacking = [pl.lit("").alias(one) for one in about if one not in rows.columns]
    kinds = {_TIME: pl.Float64, _FOREIGN: pl.Boolean}
    values = rows.select(
        pl.col(one).cast(kinds.get(one, pl.String), strict=False)
        for one in rows.columns
        if one != "line" and (not one.endswith("\0") or one in (_FILE, _FOREIGN))
    )
    lines = rows["line"] if "line" in rows.columns else pl.lit(0).alias("line")
    whole = values.with_columns(*lacking, lines)
    return whole.with_columns(pl.col(one).fill_null("") for one in about)


#: When a container is there, which both of its tables have, and what a folder's file calls it.
_ARRIVAL = {"time_ms": "arrival_ms"}
_SINCE = datetime(1970, 1, 1, tzinfo=UTC)


def in_terms_of(
    row: Mapping[str, object], found: Mapping[str, object], measures: Sequence[Measure] | None
) -> tuple[str, object, object]:
    """The column of the file, the value as it stands there, and what the store has as one of it.

    Parameters
    ----------
    row : the row of the file
    found : ``resource``, None for none; ``column`` of the table; its values ``now`` and ``first``
    measures : the columns of a wide file that hold amounts; None of a table of the store's own
    """
    column, first = str(found["column"]), found["first"]
    if found["resource"] is not None:
        if measures is None:
            return _with_unit(row, str(found["resource"]), column, first)
        wanted = f"{found['resource']}{LIMIT if column == 'limit' else ''}"
        measure = next(one for one in measures if one.resource == wanted)
        kept = None if first is None else _plain(float(str(first)) * measure.per_unit)
        return measure.column, as_it_stands(row, measure.column), kept
    named = column if column in row else _ARRIVAL.get(column, column)
    if named not in row and column == "labels":
        return _label(row, json.loads(str(found["now"])), json.loads(str(first)))
    if named not in row:
        return named, found["now"], first
    now = as_it_stands(row, named)
    if first is None or not named.endswith("_ms"):
        return named, now, first
    return named, now, _dated(first) if now != row[named] else _plain(float(str(first)))


def _label(
    row: Mapping[str, object], now: Mapping[str, object], first: Mapping[str, object]
) -> tuple[str, object, object]:
    """The first label that is another one; further columns of texts of a wide file are labels."""
    key = next(one for one in now if one in first and str(first[one]) != str(now[one]))
    return (key if key in row else f"{LABEL}{key}"), now[key], first[key]


def _with_unit(
    row: Mapping[str, object], resource: str, column: str, first: object
) -> tuple[str, object, object]:
    """An amount and its unit, as the file states them."""
    unit = str(as_it_stands(row, "unit"))
    _, times, per = in_stored_unit(resource, unit) or (unit, 1, 1)
    kept = None if first is None else f"{_plain(float(str(first)) * per / times)} {unit}"
    return column, f"{as_it_stands(row, column)} {unit}", kept


def _plain(value: float) -> str:
    return f"{value:.15g}"


def _dated(ms: object) -> object:
    """A time as it is written out."""
    return (_SINCE + timedelta(milliseconds=float(str(ms)))).isoformat().replace("+00:00", "Z")
