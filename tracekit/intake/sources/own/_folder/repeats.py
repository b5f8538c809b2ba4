"""Rows of a folder's files that state otherwise what an earlier one stated: rejects, told apart.

Earlier are rows of the same file, and those of the files of its kind before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from tracekit.base.words import and_more
from tracekit.intake.sources._cluster import Broken, Opened
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._stood import STOOD, as_it_stands, row_text
from tracekit.intake.sources.own._folder.columns import LIMIT, columns_of

#: So many of the columns in which two rows differ are named, and so much of each value.
_COLUMNS_TOLD = 3
_CHARACTERS_TOLD = 60
#: Columns that rows are given while they are compared, and the end of their names of earlier rows.
_HASH, _FIRST, _EARLIER = "hash\0", "first\0", "\0"


class Repeats:
    """Finds the rows with the key of an earlier one and other values; the first is kept.

    Equal rows stay: the store counts them and keeps one.

    Parameters
    ----------
    table : str
        The base table whose rejects take such rows.
    keys : sequence of str
        The columns that are the key together; those that a file has not are left out.
    everywhere : bool
        Whether rows are held against all earlier ones of the file, of which the keys are kept in
        memory; else against those of the same block.
    """

    def __init__(self, table: str, keys: Sequence[str], *, everywhere: bool = True) -> None:
        self._table = table
        self._keys = keys
        self._everywhere = everywhere
        self._earlier: pl.DataFrame | None = None

    def apart(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
        """The rows of a block without those that state otherwise, and a reject for each of them."""
        keys = [one for one in self._keys if one in frame.columns]
        if not keys or not frame.height:
            return frame, []
        found = self._of_block(frame, keys)
        if self._everywhere:
            found += self._of_earlier(frame, keys, {one.line for one in found})
        if found:
            frame = frame.filter(~pl.col("line").is_in([one.line for one in found]))
        return frame, sorted(found, key=lambda one: one.line)

    def _of_block(self, frame: pl.DataFrame, keys: Sequence[str]) -> list[Broken]:
        values = stated_columns(frame)
        different = frame.filter(
            pl.col(keys[0]).is_not_null() & pl.struct(values).is_first_distinct()
        )
        # few are left, of which each is looked at
        different = different.filter(pl.struct(list(keys)).is_duplicated())
        firsts: dict[tuple[object, ...], dict[str, object]] = {}
        said: dict[tuple[object, ...], str] = {}
        for row in different.iter_rows(named=True):
            first = firsts.setdefault(tuple(row[one] for one in keys), dict(row))
            other = [
                one for one in values if one not in keys and not _is_same(first[one], row[one])
            ]
            if other:
                said[tuple(row[one] for one in values)] = told_again(
                    row, first, keys, other, f"the first (line {first['line']})"
                )
            else:
                more = [one for one in values if first[one] is None]
                first.update({one: row[one] for one in row if one.removesuffix(STOOD) in more})
        if not said:
            return []
        # an equal of what is rejected is rejected, too
        again = frame.filter(pl.struct(list(keys)).is_duplicated())
        return [
            self._broken(row, reason)
            for row in again.iter_rows(named=True)
            if (reason := said.get(tuple(row[one] for one in values)))
        ]

    def _of_earlier(
        self, frame: pl.DataFrame, keys: Sequence[str], known: set[int]
    ) -> list[Broken]:
        """Those that an earlier block has otherwise; of its rows no values are kept."""
        values = stated_columns(frame)
        hashed = frame.with_columns(
            pl.struct(values).hash().alias(_HASH), pl.col("line").alias(_FIRST)
        )
        rows = hashed.filter(~pl.col("line").is_in(sorted(known))) if known else hashed
        own = rows.select(*keys, _HASH, _FIRST).unique(list(keys), keep="first")
        found: list[Broken] = []
        if self._earlier is None:
            self._earlier = own
            return found
        both = hashed.join(self._earlier, on=list(keys), how="inner", suffix=_EARLIER)
        otherwise = pl.col(_HASH) != pl.col(f"{_HASH}{_EARLIER}")
        for row in both.filter(otherwise).iter_rows(named=True):
            if row["line"] not in known:
                first = f"the first (line {row[_FIRST + _EARLIER]}) is kept"
                found.append(self._broken(row, f"{_again(row, keys)}, otherwise; {first}"))
        new = own.join(self._earlier, on=list(keys), how="anti")
        self._earlier = pl.concat([self._earlier, new])
        return found

    def _broken(self, row: dict[str, object], reason: str) -> Broken:
        return Broken(
            table=self._table, line=int(str(row["line"])), reason=reason, text=row_text(row)
        )


def _again(row: Mapping[str, object], keys: Sequence[str]) -> str:
    entity, *more = keys
    beside = "".join(f", {one} {_shown(row, one)}," for one in more if row[one] is not None)
    return f"states {entity} {_shown(row, entity)}{beside} again"


def told_again(
    row: Mapping[str, object],
    first: Mapping[str, object],
    keys: Sequence[str],
    other: Sequence[str],
    where: str,
) -> str:
    """What a row states again, in which columns otherwise, and where the one stands that counts."""
    shown = other[:_COLUMNS_TOLD]
    said = and_more([f"{one} {_shown(row, one)}" for one in shown], len(other))
    kept = ", ".join(_shown(first, one) for one in shown)
    return f"{_again(row, keys)}, with {said}; {where}, {kept}, is kept"


def stated_columns(frame: pl.DataFrame) -> list[str]:
    """The columns of the file."""
    return [one for one in frame.columns if one != "line" and not one.endswith(STOOD)]


def _shown(row: Mapping[str, object], column: str) -> str:
    value = as_it_stands(row, column)
    return "empty" if value is None else str(value)[:_CHARACTERS_TOLD]


def _is_same(first: object, later: object) -> bool:
    """Whether a later value says nothing else: one of them is none, or they are the same."""
    if first is None or later is None or first == later:
        return True
    try:
        return float(str(first)) == float(str(later))
    except ValueError:
        return False


def differs(now: pl.Expr, first: pl.Expr) -> pl.Expr:
    """Where two columns of texts say different things, by the same rule as ``_is_same``."""
    numbers = now.cast(pl.Float64, strict=False) == first.cast(pl.Float64, strict=False)
    stated = (now != "") & (first != "")
    return (stated & (now != first) & ~numbers.fill_null(value=False)).fill_null(value=False)


#: The tables of which nobody reads two rows that are about the same: a row can add nothing there.
WHOLE = frozenset({"container", "container_resource"})
#: What rows get while they are compared; names of columns end so that readers add.
_FILE, _KEY, _BEFORE = "file\0", "key\0", "\0first\0"


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
        lacking = [one for one in shared if one + _BEFORE not in rows.columns]
        rows = rows.with_columns(pl.lit(None, pl.String).alias(one + _BEFORE) for one in lacking)
        marked = rows.with_columns(
            (
                differs(pl.col(one), pl.col(one + _BEFORE)) | self._adds(one, self._rows.columns)
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
                    one.removesuffix(_BEFORE): value
                    for one, value in row.items()
                    if one.endswith(_BEFORE)
                },
                [one for one in self._keys if one in frame.columns],
                [one for one in shared if row[one + _KEY]],
                f"{row[_FILE + _BEFORE]} (line {row['line' + _BEFORE]})",
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
        more = pl.col(column).is_not_null() & pl.col(column + _BEFORE).is_null()
        if self._table not in WHOLE:
            return pl.lit(value=False)
        if column in columns_of(self._table):
            return more
        others = [
            one for one in firsts if one.replace(LIMIT, "") == column.replace(LIMIT, "") + _BEFORE
        ]
        return more & pl.any_horizontal(
            pl.lit(value=False), *(pl.col(one).is_not_null() for one in others)
        )


def _first_of_each(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The first row of each key, its columns named as those of earlier rows."""
    rows = pl.concat(parts, how="diagonal").unique(_KEY, keep="first", maintain_order=True)
    return rows.rename({one: one + _BEFORE for one in rows.columns if one != _KEY})


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
