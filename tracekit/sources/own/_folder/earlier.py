"""Rows of a folder's file that state otherwise what a file before it stated: rejects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from tracekit.sources._cluster import Broken, Opened
from tracekit.sources._columns import named_frames
from tracekit.sources._stood import row_text
from tracekit.sources.own._folder.columns import LIMIT, columns_of
from tracekit.sources.own._folder.repeats import differs, stated_columns, told_again

#: The tables of which nobody reads two rows that are about the same.
_WHOLE = ("container", "container_resource")
#: What rows get while they are compared; names of columns end so that readers add.
_FILE, _KEY, _FIRST = "file\0", "key\0", "\0first\0"


class Earlier:
    """Finds the rows of a file with the key of a row in one of its kind before it, otherwise.

    The files are taken in the order of their names, and the first counts. A row that states the
    same, or less, or more, stays.

    Parameters
    ----------
    table : str
        The base table whose rejects take such rows.
    keys : sequence of str
        The columns that are the key together; a time that is not stated is 0.
    word : str
        The kind of the file.
    kept : function(DataFrame) -> DataFrame
        The rows of a block that are no rejects themselves.
    """

    def __init__(
        self,
        opened: Opened,
        table: str,
        keys: Sequence[str],
        word: str,
        kept: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame,
    ) -> None:
        self._table, self._keys = table, keys
        every = opened.beside.get(word, ())
        paths = [one.path for one in every]
        before = every[: paths.index(opened.path)] if opened.path in paths else ()
        parts = [
            _as_texts(kept(frame), keys).with_columns(pl.lit(file.name).alias(_FILE))
            for file in before
            for frame, _ in named_frames(file, table)
            if keys[0] in frame.columns
        ]
        self._rows = _first_of_each(parts) if parts else None

    def apart(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
        """The rows of a block without those that state otherwise, and a reject for each of them."""
        if self._rows is None or self._keys[0] not in frame.columns:
            return frame, []
        rows = _as_texts(frame, self._keys).join(self._rows, on=_KEY)
        shared = [one for one in stated_columns(frame) if one not in {*self._keys, "position"}]
        lacking = [one for one in shared if one + _FIRST not in rows.columns]
        rows = rows.with_columns(pl.lit(None, pl.String).alias(one + _FIRST) for one in lacking)
        marked = rows.with_columns(
            (
                differs(pl.col(one), pl.col(one + _FIRST)) | self._adds(one, self._rows.columns)
            ).alias(one + _KEY)
            for one in shared
        )
        other = marked.filter(pl.any_horizontal(pl.col(one + _KEY) for one in shared))
        if not other.height:
            return frame, []
        lines = other["line"].cast(pl.Int64)
        said = {
            int(row["line"]): told_again(
                row,
                {
                    one.removesuffix(_FIRST): value
                    for one, value in row.items()
                    if one.endswith(_FIRST)
                },
                [one for one in self._keys if one in frame.columns],
                [one for one in shared if row[one + _KEY]],
                f"{row[_FILE + _FIRST]} (line {row['line' + _FIRST]})",
            )
            for row in other.iter_rows(named=True)
        }
        wrong = frame.filter(pl.col("line").is_in(lines.implode()))
        broken = [
            Broken(
                table=self._table,
                line=int(row["line"]),
                reason=said[int(row["line"])],
                text=row_text(row),
            )
            for row in wrong.iter_rows(named=True)
        ]
        return frame.filter(~pl.col("line").is_in(lines.implode())), broken

    def _adds(self, column: str, firsts: Sequence[str]) -> pl.Expr:
        """Where a row says more of a column, and nobody would read it: a container has one row.

        A resource may be added, as those are apart; a limit to what is requested may not.
        """
        more = pl.col(column).is_not_null() & pl.col(column + _FIRST).is_null()
        if self._table not in _WHOLE:
            return pl.lit(value=False)
        if column in columns_of(self._table):
            return more
        others = [
            one for one in firsts if one.replace(LIMIT, "") == column.replace(LIMIT, "") + _FIRST
        ]
        return more & pl.any_horizontal(
            pl.lit(value=False), *(pl.col(one).is_not_null() for one in others)
        )


def _first_of_each(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The first row of each key, its columns named as those of earlier rows."""
    rows = pl.concat(parts, how="diagonal").unique(_KEY, keep="first", maintain_order=True)
    return rows.rename({one: one + _FIRST for one in rows.columns if one != _KEY})


def _as_texts(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The rows with their key as one text and their values as texts."""
    parts = [
        (pl.col(one).cast(pl.Float64, strict=False) if one == "time_ms" else pl.col(one))
        .cast(pl.String)
        .fill_null("")
        if one in frame.columns
        else pl.lit("0.0")
        for one in keys
    ]
    values = [one for one in frame.columns if frame.schema[one] != pl.String]
    return frame.filter(pl.col(keys[0]).is_not_null()).with_columns(
        pl.concat_str(parts, separator="\0").alias(_KEY),
        *(pl.col(one).cast(pl.String) for one in values),
    )
