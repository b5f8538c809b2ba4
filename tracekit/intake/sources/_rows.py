"""Reads delimited text as frames of texts, and checks rows by rules."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import polars as pl

from tracekit.intake.sources._source import LINE, ORIGINAL, Broken, Opened, as_it_stands, row_text

#: The size of the blocks in which a file is read.
_BLOCK_BYTES = 16 << 20
#: A longer line is cut to this length, and becomes a broken line.
_LONGEST_LINE_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Delimited:
    """The form of the lines of a delimited text file; an argument of ``frames``.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns in their order. A column with an empty name is not read.
    header : bool
        Whether the first line is a header; it is skipped.
    fewest : int, optional
        The least number of fields of a line; further fields are then empty.
    empty : sequence of str
        Values that stand for a missing value.
    comment : str, optional
        The beginning of lines to skip.
    table : str
        The base table to whose rejects broken lines go.
    """

    columns: Sequence[str]
    table: str
    separator: str = ","
    header: bool = False
    fewest: int | None = None
    empty: Sequence[str] = ("",)
    comment: str | None = None


def frames(opened: Opened, form: Delimited) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    """Yield blocks of rows as texts, each with the broken lines of the block.

    The columns are those of ``form``, ``line`` (from 1), and ``LINE``, the text of the line for
    rejects. An empty value is NULL. A line with another number of fields or undecodable bytes is
    broken.
    """
    line = 1
    for block in _blocks(opened):
        texts = block.split(b"\n")
        if texts and not texts[-1]:
            texts.pop()
        skip = 1 if form.header and line == 1 else 0
        yield _frame(texts[skip:], line + skip, form)
        line += len(texts)


def _blocks(opened: Opened) -> Iterator[bytes]:
    """The file in blocks of whole lines."""
    rest = b""
    with opened.stream() as stream:
        while data := stream.read(_BLOCK_BYTES):
            block = rest + data
            cut = block.rfind(b"\n") + 1
            rest = block[cut:]
            if cut:
                yield block[:cut]
            elif len(rest) > _LONGEST_LINE_BYTES:
                yield rest[:_LONGEST_LINE_BYTES] + b"\0\n"
                rest = b""
    if rest:
        yield rest


def _frame(texts: list[bytes], first: int, form: Delimited) -> tuple[pl.DataFrame, list[Broken]]:
    raw = pl.DataFrame({"text": decoded(pl.Series(texts, dtype=pl.Binary))})
    raw = raw.with_columns(
        pl.int_range(first, first + raw.height, dtype=pl.Int64).alias("line"),
        pl.col("text").str.strip_chars_end("\r"),
    )
    undecoded = raw.filter(pl.col("text").is_null())["line"].to_list()
    broken = [_broken(form, at, "is not UTF-8 text", repr(texts[at - first])) for at in undecoded]
    raw = raw.filter(pl.col("text").is_not_null() & (pl.col("text").str.strip_chars() != ""))
    if form.comment is not None:
        raw = raw.filter(~pl.col("text").str.starts_with(form.comment))
    wanted, text = len(form.columns), pl.col("text")
    if form.separator == " ":
        text = text.str.strip_chars().str.replace_all(r"\s+", " ")
    split = raw.with_columns(text.str.split(form.separator).alias("fields"))
    count = pl.col("fields").list.len()
    good = count.is_between(form.fewest or wanted, wanted)
    for at, line, fields in split.filter(~good).select("line", "text", count).iter_rows():
        broken.append(_broken(form, at, f"has {fields} fields, expected {wanted}", line))
    values = {
        name: pl.col("fields").list.get(at, null_on_oob=True).str.strip_chars()
        for at, name in enumerate(form.columns)
        if name
    }
    named = split.filter(good).select(
        "line",
        *(
            pl.when(~value.is_in(list(form.empty))).then(value).alias(name)
            for name, value in values.items()
        ),
        pl.col("text").alias(LINE),
    )
    return named, sorted(broken, key=lambda one: one.line)


def decoded(raw: pl.Series) -> pl.Series:
    """Decode bytes as UTF-8; NULL for bytes that are not UTF-8."""
    try:
        return raw.cast(pl.String)
    except pl.exceptions.ComputeError:
        # one undecodable value makes the whole cast fail, also if it is not strict
        return pl.Series(raw.name, [_text(one) for one in raw], dtype=pl.String)


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None


def _broken(form: Delimited, line: int, reason: str, text: str) -> Broken:
    return Broken(table=form.table, line=line, reason=reason, text=text)


def long(
    rows: pl.DataFrame, keys: Sequence[str], amounts: Mapping[str, tuple[str, str, float]]
) -> pl.DataFrame:
    """Turn columns of amounts into rows of ``keys``, resource, amount, unit, ``line``; omit NULL.

    Parameters
    ----------
    amounts : for each column, the resource, the unit, and the factor by which the value is
        multiplied
    """
    parts = [
        rows.filter(pl.col(name).is_not_null()).select(
            *keys,
            pl.lit(resource).alias("resource"),
            (pl.col(name) * factor).alias("amount"),
            pl.lit(unit).alias("unit"),
            "line",
        )
        for name, (resource, unit, factor) in amounts.items()
    ]
    return pl.concat(parts).sort("line", maintain_order=True)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A condition that rows must not meet; ``refuse`` and ``emptied`` apply it.

    Parameters
    ----------
    column : str
        The column that the reject names.
    broken : Expr
        True for a row that breaks the rule; NULL counts as False.
    expected : str
        What would be right: ``1 or 2``.
    """

    column: str
    broken: pl.Expr
    expected: str


def refuse(
    rows: pl.DataFrame, rules: Iterable[Rule], table: str
) -> tuple[pl.DataFrame, list[Broken]]:
    """Return the rows that keep every rule, and a reject for each row that breaks one.

    Parameters
    ----------
    rows : DataFrame
        With the column ``line``.
    table : str
        The base table to whose rejects the broken rows go.
    """
    refused: list[Broken] = []
    for rule in rules:
        wrong = rule.broken.fill_null(value=False)
        bad = rows.filter(wrong)
        if bad.height:
            refused += [_refusal(row, rule, table) for row in bad.iter_rows(named=True)]
            rows = rows.filter(~wrong)
    return rows, sorted(refused, key=lambda one: one.line)


def emptied(
    rows: pl.DataFrame, rules: Iterable[Rule], table: str
) -> tuple[pl.DataFrame, list[Broken]]:
    """Set values that break a rule to NULL; return all rows, and a reject for each changed row."""
    refused: list[Broken] = []
    originals = rows
    for rule in rules:
        broken = refuse(originals, [rule], table)[1]
        if broken:
            refused += broken
            wrong = rule.broken.fill_null(value=False)
            rows = rows.with_columns(pl.when(~wrong).then(pl.col(rule.column)))
    return rows, _once(refused)


def _once(rejects: Iterable[Broken]) -> list[Broken]:
    """One reject for each line, which names every fault of the line."""
    lines: dict[int, Broken] = {}
    for one in rejects:
        first = lines.get(one.line)
        more = first and replace(first, reason=f"{first.reason}; {one.column} {one.reason}")
        lines[one.line] = more or one
    return sorted(lines.values(), key=lambda one: one.line)


def missing(*columns: str, expected: str = "a value") -> list[Rule]:
    """Return one rule for each column: its value must not be NULL."""
    return [Rule(column=one, broken=pl.col(one).is_null(), expected=expected) for one in columns]


def numbers(*columns: str) -> list[Rule]:
    """Return one rule for each column: its text must be a number or NULL."""
    return [
        Rule(
            column=one,
            broken=pl.col(one).is_not_null() & pl.col(one).cast(pl.Float64, strict=False).is_null(),
            expected="a number",
        )
        for one in columns
    ]


def _refusal(row: dict[str, object], rule: Rule, table: str) -> Broken:
    value = as_it_stands(row, rule.column)
    shown = "empty" if value is None else f"'{str(value)[:60]}'"
    return Broken(
        table=table,
        line=int(str(row["line"])),
        column=rule.column,
        reason=f"is {shown}, expected {rule.expected}",
        text=row_text(row),
    )


#: The end of the name of a column of times, in all tables.
_ENDING = "_ms"
_DATE = r"^\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}|$)"
_SINCE = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def in_ms(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert dates with a time zone to ms since 1970 in text columns named ``*_ms``.

    Other texts stay. A changed column gets a second column with the original texts, for rejects.
    """
    for name, kind in frame.schema.items():
        if kind == pl.String and name.endswith(_ENDING):
            dated = frame[name].filter(frame[name].str.contains(_DATE)).unique().drop_nulls()
            parsed = {text: ms for text in dated if (ms := _ms(text)) is not None}
            if parsed:
                original = pl.col(name).alias(name + ORIGINAL)
                frame = frame.with_columns(pl.col(name).replace(parsed), original)
    return frame


def _ms(text: str) -> str | None:
    try:
        point = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return None if point.tzinfo is None else str((point - _SINCE) // _MS)


def undated(frame: pl.DataFrame, columns: Sequence[str]) -> list[Rule]:
    """Return rules that reject a date without a time zone in these columns."""
    return [
        Rule(
            column=one,
            broken=pl.col(one).str.contains(_DATE),
            expected="ms, or a point in time with its zone, such as 2026-01-31T08:00:00Z",
        )
        for one in columns
        if frame.schema.get(one) == pl.String
    ]


_KNOWN = "known\0"


class Places:
    """A lookup of the node of each container, built from files that list containers.

    If a container is listed several times, its first row counts.
    """

    def __init__(self, frames: Iterable[pl.DataFrame]) -> None:
        """``frames`` are lists of containers; one without the column ``node`` is left out."""
        parts = [
            one.select(pl.col("container", "node").cast(pl.String))
            for one in frames
            if {"container", "node"} <= set(one.columns)
        ]
        nothing = pl.DataFrame(schema={"container": pl.String, "node": pl.String})
        whole = pl.concat([nothing, *parts]).drop_nulls("container")
        self._nodes = whole.unique("container", keep="first").rename({"node": _KNOWN})

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows with a column ``node``, looked up by the column ``container``.

        A node that a row already has stays. The node of an unlisted container is NULL.
        """
        stated = [pl.col("node").cast(pl.String)] if "node" in rows.columns else []
        joined = rows.with_columns(pl.col("container").cast(pl.String)).join(
            self._nodes, on="container", how="left", maintain_order="left"
        )
        return joined.with_columns(pl.coalesce(*stated, _KNOWN).alias("node")).drop(_KNOWN)
