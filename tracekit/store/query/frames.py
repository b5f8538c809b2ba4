"""DuckDB's answers as polars frames; an error names the column that no frame can hold."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.base.errors import TracekitError

#: Types that polars lacks, or would take for others.
_WITHOUT_LIKE = re.compile(r"\b(INTERVAL|UNION|UHUGEINT|BIGNUM|VARINT|BIT)\b")
_EMPTY = re.compile(r"\bSTRUCT(\(\s*\)|$)")
#: The years that Python's times have, as days since 1970.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
#: A time in nanoseconds cannot be so far away.
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


def frame_of(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """The rows of a relation.

    Raises
    ------
    TracekitError
        For two columns of one name, a type that polars has not, and a time beyond the years 1 to
        9999, such as infinity.
    """
    twice = [name for name, count in Counter(relation.columns).items() if count > 1]
    if twice:
        raise TracekitError(
            f"two columns are called '{twice[0]}', expected a name for each",
            hint="name what you want of them: SELECT a.x AS first, b.x AS second",
        )
    for name, kind in zip(relation.columns, relation.types, strict=True):
        if found := _WITHOUT_LIKE.search(str(kind)):
            raise _as_text(name, f"is {found[0]}, a type that no frame has")
        if _EMPTY.search(str(kind)):
            raise _as_text(name, "is a record without fields, a type that no file has")
    table = relation.to_arrow_table()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if any(_beyond(part) for part in _parts(column)):
            raise _as_text(name, "holds a time beyond the years 1 to 9999")
    try:
        return pl.DataFrame(table)
    except pl.exceptions.PolarsError as error:
        raise TracekitError(
            f"the rows are no frame: {next(iter(str(error).splitlines()), '')}",
            hint="cast what is unusual: CAST(x AS VARCHAR)",
        ) from error


def _as_text(name: str, what: str) -> TracekitError:
    return TracekitError(
        f"column '{name}' {what}", hint=f'cast it: CAST("{name}" AS VARCHAR) AS "{name}"'
    )


def _parts(column: Any) -> Iterator[Any]:
    """A column, or what its lists, records and maps hold, however deep."""
    kind = column.type
    if isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        yield from _parts(pc.list_flatten(column))
    elif isinstance(kind, pa.StructType):
        for at in range(kind.num_fields):
            yield from _parts(pc.struct_field(column, at))
    elif isinstance(kind, pa.MapType):
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            yield from _parts(chunk.keys)
            yield from _parts(chunk.items)
    else:
        yield column


def _beyond(values: Any) -> bool:
    """Whether a time cannot be shown; False for what is no time."""
    kind = values.type
    if pa.types.is_date32(kind):
        per_day, whole = 1, pa.int32()
    elif pa.types.is_timestamp(kind) and kind.unit in _PER_DAY:
        per_day, whole = _PER_DAY[kind.unit], pa.int64()
    else:
        return False
    ends = pc.min_max(values.cast(whole)).as_py()
    if ends["min"] is None:
        return False
    return bool(ends["min"] < _FIRST_DAY * per_day or ends["max"] >= (_LAST_DAY + 1) * per_day)
