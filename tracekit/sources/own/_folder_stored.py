"""Rows of a folder's file that state otherwise what the store has of an ingest before: rejects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from tracekit.sources._cluster import Batch, Broken, Opened
from tracekit.sources._rows import row_text
from tracekit.sources.own._folder_repeats import differs, told_again

#: The columns of each table that say what its rows are about, the entity first.
_ABOUT: Mapping[str, Sequence[str]] = {
    "node": ("node", "time_ms"),
    "node_resource": ("node", "time_ms", "resource"),
    "container": ("container",),
    "container_resource": ("container", "resource"),
}
#: What else is no statement: where a row stands, and what its table and its resource fix.
_PASSED_OVER = frozenset({"line", "position", "unit", "cell"})
#: When a container is there, which both of its tables have, and what a folder's file calls it.
_ARRIVAL = {"time_ms": "arrival_ms"}
_FIRST = "\0stored"
_WHERE = "what the store has"


class Stored:
    """Finds the rows of which some table of the store has something else already."""

    def __init__(self, opened: Opened) -> None:
        self._tables = {
            table: _as_texts(pl.read_parquet(opened.stored[table]), about)
            for table, about in _ABOUT.items()
            if table in opened.stored
        }

    def apart(self, frame: pl.DataFrame, batches: Sequence[Batch]) -> list[Batch | Broken]:
        """The batches of a block without such rows, and a reject for each row of the file."""
        found: dict[int, dict[str, tuple[object, object]]] = {}
        for batch in batches:
            for line, name, now, first in self._otherwise(batch):
                found.setdefault(line, {})[name] = (now, first)
        if not found:
            return list(batches)
        table = batches[0].table
        keys = [one for one in _ABOUT[table] if one in frame.columns]
        lines = pl.Series(list(found), dtype=pl.Int64).implode()
        wrong: list[Batch | Broken] = []
        for row in frame.filter(pl.col("line").is_in(lines)).iter_rows(named=True):
            said = found[int(row["line"])]
            now, first = ({name: pair[at] for name, pair in said.items()} for at in (0, 1))
            reason = told_again({**row, **now}, first, keys, list(said), _WHERE)
            text = row_text(row)
            wrong.append(Broken(table=table, line=int(row["line"]), reason=reason, text=text))
        stay = [
            Batch(table=one.table, rows=one.rows.filter(~pl.col("line").is_in(lines)))
            for one in batches
        ]
        return [*wrong, *stay]

    def _otherwise(self, batch: Batch) -> Iterator[tuple[int, str, object, object]]:
        """Line, what is stated, what the row says of it, and what the store has."""
        stored = self._tables.get(batch.table)
        if stored is None or not batch.rows.height:
            return
        about = _ABOUT[batch.table]
        both = _as_texts(batch.rows, about).join(stored, on=list(about), suffix=_FIRST)
        for name in both.columns:
            if name in {*about, *_PASSED_OVER} or name + _FIRST not in both.columns:
                continue
            if name == "time_ms" and "resource" in about:
                continue
            other = both.filter(differs(pl.col(name), pl.col(name + _FIRST)))
            for row in other.iter_rows(named=True):
                said = _ARRIVAL.get(name, name)
                if "resource" in about:
                    said = row["resource"] + (" limit" if name == "limit" else "")
                yield int(row["line"]), said, row[name], row[name + _FIRST]


def _as_texts(rows: pl.DataFrame, about: Sequence[str]) -> pl.DataFrame:
    """The rows with all values as texts but times that they are about, which are numbers."""
    return rows.select(
        pl.col(one).cast(pl.Float64, strict=False)
        if one == "time_ms" and one in about
        else pl.col(one).cast(pl.String)
        for one in rows.columns
        if one != "line"
    ).with_columns(rows["line"] if "line" in rows.columns else pl.lit(0).alias("line"))
