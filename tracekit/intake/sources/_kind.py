"""A kind of file of a released trace: its columns with units and rules."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from tracekit.base.units import BYTES_PER_GIB, BYTES_PER_KIB, BYTES_PER_MIB, SECONDS_UP_TO
from tracekit.intake.sources._rows import Delimited, frames
from tracekit.intake.sources._source import LINE, Archives, Broken, Head, Opened

_COLUMN = re.compile(r"(\w*|-)(?::(\w+))?([+!]*)(?:=(.*))?")
#: The SQL expression of a number of each kind.
_UNITS = {
    "number": "{}",
    "percent": "{} / 100",
    "hundredths": "{} * 0.01",
    "thousandths": "{} * 0.001",
    "kib": f"{{}} * {BYTES_PER_KIB}",
    "mib": f"{{}} * {BYTES_PER_MIB}",
    "gib": f"{{}} * {BYTES_PER_GIB}",
    # milliseconds, whole
    "seconds": "TRY_CAST(round_even({} * 1000, 0) AS BIGINT)",
}
_NUMBER = r"[-+.\deE]*"
_LOOKED_AT = 20
_LINES_AT_ONCE = 2000

#: The end of the name of a column as it stands in the file.
RAW = " raw"
#: The column of rows whose columns are the fields of a JSON object.
JSON = "json"
#: A column, what breaks its rule in SQL, and what is expected.
Fault = tuple[str, str, str]


def json_lines(opened: Opened) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    """Yield the non-empty lines of a file in blocks; each line should be a JSON object."""
    with opened.stream() as stream:
        line = 1
        while some := list(itertools.islice(stream, _LINES_AT_ONCE)):
            texts = [one.decode(errors="replace").strip() for one in some]
            rows = pl.DataFrame({JSON: texts, LINE: texts}).with_row_index("line", offset=line)
            line += len(some)
            yield rows.filter(pl.col(JSON) != "").with_columns(pl.col("line").cast(pl.Int64)), []


#: Reads the rows of a file: texts, with ``line`` and the line itself; and the broken lines.
Rows = Callable[[Opened], Iterator[tuple[pl.DataFrame, list[Broken]]]]


@dataclass(frozen=True)
class Column:
    """The description of one column of a file, parsed from a text such as ``time:seconds!``.

    Parameters
    ----------
    kind : str
        ``text``, ``whole`` (a text that is a whole number), ``any`` (unchanged), ``numbers`` (a
        JSON list), or the unit of a number: ``number``, ``percent``, ``hundredths``,
        ``thousandths``, ``kib``, ``mib``, ``gib``, ``seconds`` (which become ms).
    flags : str
        ``!`` if it is never empty, ``+`` if it is 0 or more.
    pattern : str
        A regular expression of its values, by which a file without a header is recognised.
    """

    name: str
    kind: str = "text"
    flags: str = ""
    pattern: str = "[^,]*"

    @classmethod
    def parsed(cls, text: str) -> Column:
        """Parse a text such as ``time:seconds!=[0-9]+``: name, kind, flags, pattern.

        A column that is written ``-`` has no name and is not read.
        """
        match = _COLUMN.fullmatch(text)
        if match is None:
            raise TypeError(f"no column of a source: {text}")
        name, kind, flags, pattern = match.groups()
        usual = _NUMBER if kind in _UNITS else "[^,]*"
        return cls(name.strip("-"), kind or "text", flags, usual if pattern is None else pattern)

    @property
    def value(self) -> str:
        """An SQL expression that converts the column's text by its kind."""
        if self.kind in _UNITS:
            return _UNITS[self.kind].format(f'TRY_CAST("{self.name}{RAW}" AS DOUBLE)')
        original = f'"{self.name}{RAW}"'
        if self.kind == "numbers":
            return f"TRY_CAST(TRY_CAST({original} AS JSON) AS DOUBLE[])"
        return original if self.kind == "any" else f"CAST({original} AS VARCHAR)"

    def faults(self) -> Iterator[Fault]:
        """Yield rules: the column, an SQL condition of a fault, and what is expected."""
        if self.kind == "numbers":
            finite = (
                f"len(list_filter({self.value}, lambda one: isfinite(one))) = len({self.value})"
            )
            yield self.name, f"NOT coalesce({finite}, false)", "a list of numbers"
            return
        original, number = f'"{self.name}{RAW}"', self.kind in _UNITS
        expected = "a number" if number else "a whole number" if self.kind == "whole" else "a value"
        cast = f"TRY_CAST({original} AS {'DOUBLE' if number else 'BIGINT'})"
        if number:
            yield (
                self.name,
                f"{original} IS NOT NULL AND NOT coalesce(isfinite({cast}), false)",
                expected,
            )
        if self.kind == "whole":
            yield self.name, f"{original} IS NOT NULL AND {cast} IS NULL", expected
        if "!" in self.flags:
            yield self.name, f"{original} IS NULL", expected
        if "+" in self.flags:
            yield self.name, f"{cast} < 0", "0 or more"
        if self.kind == "seconds":
            yield self.name, f"{cast} > {SECONDS_UP_TO}", "seconds, no milliseconds"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The description of one kind of file of a released trace.

    Parameters
    ----------
    word, title, archives, alone, tables
        The fields of ``ClusterFile``. By default the tables are those that the statements fill.
    columns : str
        The columns in their order, with blanks between: ``node time:seconds! cpu:percent``.
    stem : str
        A part of the names of files without a header; such a file is recognised if one line fits.
        Without it most of the first lines must fit.
    header : str
        "names" if the first line names the columns and further columns are allowed; "exactly" if
        they are not; else the first line itself, which is skipped. Empty for no header.
    separator : str
        Separates fields; a blank stands for any number of blanks.
    rules : tuple of str
        Further conditions that make a row a reject, as ``end: "end" < start -> no time before its
        start``: the column, the SQL condition over typed columns, and what is expected.
    beside : tuple of str
        Kinds of files ingested together with this one whose valid rows the statements may read; the
        column ``file`` has the name of the file.
    needs : mapping of str to str
        Kinds of files that must be ingested together with this one, each with a hint for the error.
    beside_bytes : int
        The largest size of a file of ``beside`` that is read; 0 for no limit.
    whole : bool
        Whether statements run on all rows of a file at once, instead of on blocks of rows.
    form : function(Opened) -> Opened, optional
        Turns the file into delimited text.
    rows : function(Opened) -> Iterator of (DataFrame, list of Broken), optional
        Reads a file that is not delimited text: rows with ``line`` and the columns as texts.
    recognises : function(Head) -> bool, optional
        Decides whether a file is of this kind, before columns and header do.
    """

    word: str
    title: str
    columns: str
    stem: str = ""
    header: str = ""
    separator: str = ","
    comment: str | None = None
    empty: Sequence[str] = ("",)
    fewest: int | None = None
    rules: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    beside_bytes: int = 0
    whole: bool = False
    alone: bool = False
    tables: tuple[str, ...] = ()
    archives: Archives | None = None
    form: Callable[[Opened], Opened] | None = None
    rows: Rows | None = None
    recognises: Callable[[Head], bool] | None = None

    @functools.cached_property
    def parsed(self) -> tuple[Column, ...]:
        """All columns, also those that are not read."""
        return tuple(Column.parsed(one) for one in self.columns.split())

    @property
    def named(self) -> list[Column]:
        """The columns that are read."""
        return [one for one in self.parsed if one.name]

    @functools.cached_property
    def own_faults(self) -> tuple[Fault, ...]:
        """The rules of the columns, as ``Column.faults`` yields them."""
        first = ((JSON, f'"{JSON}{RAW}" IS NULL', "a JSON object"),)
        fields = (fault for column in self.named for fault in column.faults())
        return (*(first if self.rows is json_lines else ()), *fields)

    def heading(self, column: str) -> str:
        """Return the name that the header of the file gives a column.

        It differs from ``column`` only if the field ``header`` holds the first line of the file.
        """
        if self.header in {"", "names", "exactly"}:
            return column
        place = [one.name for one in self.parsed].index(column)
        return self.header.split(self.separator)[place].strip()

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All rules: those of the columns, then those of ``rules``."""
        return (*self.own_faults, *map(_fault, self.rules))

    def is_of(self, head: Head) -> bool:
        """Return whether a file is of this kind."""
        if self.recognises is not None:
            return self.recognises(head)
        if self.header in {"names", "exactly"}:
            names, fields = {one.name for one in self.parsed}, [one for one in head.fields() if one]
            return names <= set(fields) and (self.header == "names" or len(fields) == len(names))
        if self.header:
            mine = [one.strip() for one in self.header.split(self.separator)]
            return head.fields(self.separator) == mine
        return self._fits([one.strip() for one in head.lines[:_LOOKED_AT] if one.strip()], head)

    def _fits(self, lines: list[str], head: Head) -> bool:
        least = len(self.parsed) if self.fewest is None else self.fewest
        parts = [f"(?:{one.pattern})" for one in self.parsed]
        more = [f"(?:{self.separator}{one}" for one in parts[least:]]
        pattern = re.compile(self.separator.join(parts[:least]) + "".join(more) + ")?" * len(more))
        fitting = sum(pattern.fullmatch(line) is not None for line in lines)
        if self.stem:
            return self.stem in head.name and fitting > 0
        # a first line without any digit names columns, and tables without a header have none
        named = self.separator == "," and re.search(r"\d", "".join(lines[:1])) is None
        return fitting * 2 > len(lines) and not named

    def raw(self, opened: Opened, table: str) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
        """Yield blocks of rows as texts, each with its broken lines."""
        if self.rows is not None:
            return self.rows(opened)
        opened = opened if self.form is None else self.form(opened)
        names = [one.name for one in self.parsed]
        if self.header in {"names", "exactly"}:
            with opened.stream() as stream:
                first = stream.readline(1 << 20).decode(errors="replace").removeprefix("\ufeff")
            fields = [one.strip().strip('"') for one in first.split(self.separator)]
            names = [one if one in names else "" for one in fields]
        form = Delimited(
            columns=names,
            table=table,
            separator=self.separator,
            header=bool(self.header),
            fewest=self.fewest,
            empty=self.empty,
            comment=self.comment,
        )
        return frames(opened, form)


def _fault(rule: str) -> Fault:
    """The column, the SQL condition and the expected value of a rule."""
    column, _, condition = rule.partition(": ")
    wrong, _, expected = condition.rpartition(" -> ")
    if not wrong:
        raise TypeError(f"no rule of a source: {rule}")
    return column, wrong, expected
