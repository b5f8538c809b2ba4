"""What DuckDB answers as a polars frame; what no frame can hold is told by its column."""

from __future__ import annotations

import re
from collections import Counter

import duckdb
import polars as pl

from tracekit.errors import TracekitError

#: Types that polars lacks, or would take for others.
_WITHOUT_LIKE = re.compile(r"\b(INTERVAL|UNION|UHUGEINT|BIGNUM|VARINT|BIT)\b")
#: The years that Python's times have, as days since 1970.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


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
    try:
        frame = pl.DataFrame(relation.to_arrow_table())
    except pl.exceptions.PolarsError as error:
        raise TracekitError(
            f"the rows are no frame: {next(iter(str(error).splitlines()), '')}",
            hint="cast what is unusual: CAST(x AS VARCHAR)",
        ) from error
    for name in frame.columns:
        if _beyond(frame[name]):
            raise _as_text(name, "holds a time beyond the years 1 to 9999")
    return frame


def _as_text(name: str, what: str) -> TracekitError:
    return TracekitError(
        f"column '{name}' {what}", hint=f'cast it: CAST("{name}" AS VARCHAR) AS "{name}"'
    )


def _beyond(values: pl.Series) -> bool:
    """Whether a time cannot be shown; False for what is no time."""
    kind = values.dtype
    if isinstance(kind, pl.Date):
        per_day = 1
    elif isinstance(kind, pl.Datetime):
        per_day = _PER_DAY[kind.time_unit]
    else:
        return False
    least, most = values.to_physical().min(), values.to_physical().max()
    if not isinstance(least, int) or not isinstance(most, int):
        return False
    return least < _FIRST_DAY * per_day or most >= (_LAST_DAY + 1) * per_day
