"""What is checked across a folder's files: ids that another one holds, and lives that end."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tracekit.sources._cluster import Opened
from tracekit.sources._columns import named_frames
from tracekit.sources._refused import Rule


def known_ids(opened: Opened, words: Sequence[str], column: str) -> pl.Series | None:
    """The ids in the files of these kinds beside this one; None without any such file."""
    files = [one for word in words for one in opened.beside.get(word, ())]
    if not files:
        return None
    parts = [
        frame.select(pl.col(column).cast(pl.String).alias("id"))["id"].unique()
        for file in files
        for frame, _ in named_frames(file, column)
        if column in frame.columns
    ]
    return pl.concat(parts).unique() if parts else pl.Series("id", [], dtype=pl.String)


def unknown(frame: pl.DataFrame, column: str, ids: pl.Series | None) -> list[Rule]:
    """The rule that a column names ids of another file, where there is such a file."""
    if ids is None or column not in frame.columns:
        return []
    strange = ~pl.col(column).cast(pl.String).is_in(ids.implode())
    return [Rule(column=column, broken=strange, expected=f"a {column} of the files beside")]


def ended_early(frame: pl.DataFrame) -> list[Rule]:
    """The rule that a container departs after it arrived."""
    if "departure_ms" not in frame.columns:
        return []
    arrival, departure = (
        pl.col(name).cast(pl.Float64, strict=False) for name in ("arrival_ms", "departure_ms")
    )
    return [Rule(column="departure_ms", broken=departure <= arrival, expected="after arrival_ms")]
