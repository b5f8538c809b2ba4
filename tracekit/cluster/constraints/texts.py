"""Columns of JSON texts on containers and nodes: each distinct text is read once."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError

T = TypeVar("T")
_SHOWN = 80


class DocumentError(ValueError):
    """A text is JSON, but not of the expected form."""


def texts_of(frame: pl.DataFrame, column: str) -> list[str]:
    """A column as texts, empty for null and for a column that is missing."""
    if column not in frame.columns:
        return [""] * frame.height
    return frame[column].cast(pl.String).fill_null("").to_list()


def numbered(keys: Sequence[Hashable]) -> tuple[IntArray, list[int]]:
    """A number for each distinct key, -1 for None, and the first position of each number."""
    number: dict[Hashable, int] = {None: -1}
    of = [number.setdefault(key, len(number) - 1) for key in keys]
    first: dict[int, int] = {}
    for at, one in enumerate(of):
        first.setdefault(one, at)
    return np.array(of, dtype=np.int64), [first[one] for one in range(len(number) - 1)]


def read_text(read: Callable[[str], T], frame: pl.DataFrame, at: int, column: str) -> T:
    """What ``read`` makes of a row's text.

    Raises
    ------
    TracekitError
        Where ``read`` raises ValueError; it names the container or node, and the column.
    """
    text = str(frame[column][at])
    try:
        return read(text)
    except ValueError as wrong:
        kind = "container" if "container" in frame.columns else "node"
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        name = frame[kind][at]
        raise TracekitError(f"{kind} '{name}' has {column} {shown}: {wrong}") from wrong


def statements(
    frame: pl.DataFrame, column: str, read: Callable[[str], T], but: BoolArray | None = None
) -> tuple[IntArray, list[T]]:
    """The position of each row's text among the distinct ones, -1 for none and for rows ``but``."""
    silent = [False] * frame.height if but is None else but.tolist()
    texts = zip(texts_of(frame, column), silent, strict=True)
    of, first = numbered([text if text and not skip else None for text, skip in texts])
    return of, [read_text(read, frame, at, column) for at in first]
