"""Tables of the report: frames as headed columns of texts, each with the value it sorts by."""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tracekit.replay.measures import find_measure, words_of
from tracekit.report.heads import head
from tracekit.sqlfiles import get_query
from tracekit.units import duration, memory
from tracekit.words import MINUS, NBSP, number, percent, short_hash

Kind = Literal["text", "id", "percent", "number", "count", "time", "size"]

_UNIT = re.compile(r"\[([^\]]+)\]\.?$")
#: Files are called by so many letters of a caption at most.
_NAME_LENGTH = 40
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_ENDINGS: tuple[tuple[str, Kind], ...] = (
    ("_fraction", "percent"),
    ("_share", "percent"),
    ("_ms", "time"),
    ("_bytes", "size"),
)


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table: what is over it, what it means and how its values look.

    Parameters
    ----------
    later : bool
        Whether a table that can be chosen from begins without it.
    """

    name: str
    label: str
    kind: Kind
    meaning: str = ""
    later: bool = False

    @property
    def numeric(self) -> bool:
        """Whether values stand on the right and sort as numbers."""
        return self.kind not in {"text", "id"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One value: as shown, in full where that is longer, as it sorts, and its interval's ends."""

    text: str
    sort: str
    full: str = ""
    mark: str = ""
    ends: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table ready for a template; rows set apart stand beneath the others and look different."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    apart: Sequence[Sequence[Cell]] = ()

    @property
    def file_name(self) -> str:
        """What it is called as a file: the first words of its caption, in plain letters."""
        words = _NOT_IN_NAMES.sub("-", self.caption.lower()).strip("-")
        if len(words) <= _NAME_LENGTH:
            return words or "table"
        return words[: _NAME_LENGTH + 1].rpartition("-")[0] or words[:_NAME_LENGTH]


def table(
    frame: pl.DataFrame,
    caption: str,
    *,
    query: str = "",
    only: Sequence[str] = (),
    later: Sequence[str] = (),
) -> Table:
    """A frame as a table; a query's header says what its columns mean and their units.

    Columns of ``later`` are there when somebody chooses them.
    """
    names = [name for name in (only or frame.columns) if name in frame.columns]
    columns = [
        dataclasses.replace(column(name, frame.schema[name], query), later=name in later)
        for name in names
    ]
    rows = [
        [cell(value, col) for value, col in zip(row, columns, strict=True)]
        for row in frame.select(names).iter_rows()
    ]
    return Table(caption=caption, columns=columns, rows=rows)


def column(name: str, dtype: pl.DataType, query: str = "") -> Column:
    """How a column of a frame looks in a table."""
    meaning = _meaning(name, query)
    found = _UNIT.search(meaning)
    kind = _kind(name, dtype, found[1] if found else "")
    return Column(name=name, label=head(name), kind=kind, meaning=meaning)


def _meaning(name: str, query: str) -> str:
    if not query:
        return ""
    return next((c.description for c in get_query(query).columns if c.name == name), "")


def _kind(name: str, dtype: pl.DataType, unit: str) -> Kind:
    if not dtype.is_numeric():
        return "id" if name in {"node", "container", "service"} else "text"
    for ending, kind in _ENDINGS:
        if name.endswith(ending):
            return kind
    if unit == "0..1" or name in {"cpu_mean", "memory_mean", "node_share", "bin_start", "cpu_from"}:
        return "percent"
    return "count" if dtype.is_integer() else "number"


#: Shares of which most are far below 1 %: with the digits that the titles of figures have.
_AS_IN_TITLES = {"overload_share"}


def cell(value: Any, col: Column) -> Cell:
    """One value as a cell; a value that is not there sorts last."""
    if value is None or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return Cell(text="\u2013", sort="")
    fine = col.name in _AS_IN_TITLES
    text = percent(value) if fine else _text(_said(value, col.name), col.kind)
    full = str(value) if col.kind == "id" and text != str(value) else ""
    return Cell(
        text=text, sort=f"{value:.9g}" if isinstance(value, float) else str(value), full=full
    )


def _said(value: Any, column: str) -> Any:
    """A name in a cell as a reader knows it: of a resource or of a measure."""
    if column == "resource":
        return words_of(str(value))
    if column == "measure":
        known = find_measure(str(value))
        return str(value).replace("_", " ") if known is None else known.title
    return value


def _text(value: Any, kind: Kind) -> str:
    if kind == "percent":
        return percent(value, 1)
    if kind == "number":
        whole = float(value).is_integer()
        return f"{value:,.0f}".replace("-", MINUS) if whole else number(value)
    if kind == "count":
        return f"{value:,}"
    if kind == "time":
        return duration(value)
    if kind == "size":
        return size_text(value)
    return short_hash(str(value)) if kind == "id" else str(value)


def size_text(value: float) -> str:
    """Bytes in units of 1,024, as sentences have them."""
    return memory(value).replace(" ", NBSP)
