"""Points in time in ISO 8601 with a zone, as ms since 1970."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import polars as pl

from tracekit.intake.sources._rows import Rule
from tracekit.intake.sources._stood import STOOD

#: Times have such names in all tables.
_ENDING = "_ms"
_DATE = r"^\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}|$)"
_SINCE = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def in_ms(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with points in time as ms since 1970; a text without a zone, or with none, stays.

    The column as it is in the file is kept beside it, for rejects.
    """
    for name, kind in frame.schema.items():
        if kind == pl.String and name.endswith(_ENDING):
            dated = frame[name].filter(frame[name].str.contains(_DATE)).unique().drop_nulls()
            parsed = {text: ms for text in dated if (ms := _ms(text)) is not None}
            if parsed:
                stood = pl.col(name).alias(name + STOOD)
                frame = frame.with_columns(pl.col(name).replace(parsed), stood)
    return frame


def _ms(text: str) -> str | None:
    try:
        point = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return None if point.tzinfo is None else str((point - _SINCE) // _MS)


def undated(frame: pl.DataFrame, columns: Sequence[str]) -> list[Rule]:
    """Rules that reject a date without a time zone in these columns."""
    return [
        Rule(
            column=one,
            broken=pl.col(one).str.contains(_DATE),
            expected="ms, or a point in time with its zone, such as 2026-01-31T08:00:00Z",
        )
        for one in columns
        if frame.schema.get(one) == pl.String
    ]
