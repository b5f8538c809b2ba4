"""Released traces as descriptions: the columns of a file, and a SELECT for each base table.

The ``.sql`` file of a source holds statements below headings. A heading is the word of a ``Kind``
and a name:

``-- machines: node`` makes rows of the base table ``node`` from a file of machines, whose rows are
the table ``machines``. ``-- tasks: container once`` reads the rows of all files of tasks that are
ingested together, and runs for the first of them only. ``-- fragments: view pieces`` makes a view
for later statements, and ``-- fragments: table task`` makes a table once. ``refused`` gives further
rejects (line, column, value, expected), and ``stopped`` the error that ends the reading of a file
(what, hint).
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._kind import JSON, RAW, Fault, Kind
from tracekit.intake.sources._source import (
    LINE,
    Batch,
    Broken,
    ClusterFile,
    ClusterSource,
    Opened,
    Parts,
    Read,
    row_text,
)
from tracekit.store.tables import all_tables

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FOLDER = Path(__file__).with_name("released")
_MEMORY = "1GiB"
_BATCH_ROWS = 1 << 20
#: The names of statements that give no rows of a base table.
_OTHERS = {"refused", "stopped"}
_HEADING = re.compile(r"^-- (\w+): (?:(view|table) )?(\w+)( once)?$\n", re.MULTILINE)
#: The columns of amounts of these tables; a row without any amount is left out.
_AMOUNTS = {
    "node_resource": ("amount",),
    "node_amount": ("amount",),
    "container_amount": ("amount",),
    "container_resource": ("request", "limit"),
}


@dataclass(frozen=True)
class _Statement:
    word: str
    made: str
    name: str
    once: bool
    text: str


def _statements(name: str) -> list[_Statement]:
    text = (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return [
        _Statement(word, made or "", target, bool(once), body.strip().removesuffix(";"))
        for word, made, target, once, body in zip(*(parts[at::5] for at in range(5)), strict=True)
    ]


def described(files: str, *kinds: Kind) -> tuple[ClusterFile, ...]:
    """Return the kinds of files of a source, each with a reader, from their descriptions.

    ``files`` names SQL files, separated by blanks. A reader runs their statements on the rows of a
    file.
    """
    statements = [one for name in files.split() for one in _statements(name)]
    every = {kind.word: kind for kind in kinds}
    _check(files, statements, every)
    return tuple(
        ClusterFile(
            word=kind.word,
            title=kind.title,
            tables=tables,
            recognises=kind.is_of,
            read=_Reader(kind, every, [one for one in statements if one.word == kind.word], tables),
            archives=kind.archives,
            alone=kind.alone,
        )
        for kind in kinds
        for tables in (kind.tables or _tables(kind.word, statements),)
    )


def _check(files: str, statements: Sequence[_Statement], every: Mapping[str, Kind]) -> None:
    """Raise TracekitError for a heading without a kind or table, and a kind without heading."""
    words = [one.word for one in statements]
    targets = [one.name for one in statements if not one.made]
    for what, stated, allowed in (
        ("kind of file", words, [*every]),
        ("base table", targets, [*all_tables(), *_OTHERS]),
        ("heading", [word for word, kind in every.items() if not kind.tables], words),
    ):
        for one in stated:
            if one not in allowed:
                raise TracekitError(
                    f"statements of {files}: '{one}' is no {what}",
                    hint=f"expected one of {', '.join(dict.fromkeys(allowed))}; a statement begins"
                    " with a line such as '-- machines: node'",
                )


@dataclass(frozen=True, kw_only=True)
class Released(ClusterSource):
    """A published trace whose files are described by ``Kind`` and by an SQL file of its name.

    Parameters
    ----------
    kinds : tuple of Kind
        The descriptions; their kinds of files precede ``files``.
    shared : str
        The name of a further SQL file, with statements that several sources share.
    """

    kinds: tuple[Kind, ...]
    shared: str = ""

    def __post_init__(self) -> None:
        files = described(f"{self.name} {self.shared}", *self.kinds)
        object.__setattr__(self, "files", (*files, *self.files))


def _tables(word: str, statements: Sequence[_Statement]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            one.name
            for one in statements
            if one.word == word and not (one.made or one.name in _OTHERS)
        )
    )


@functools.cache
def _database() -> DuckDBPyConnection:
    """A database in memory of this process, which spills to disk."""
    import duckdb  # noqa: PLC0415 - processes that read no such source need none of it

    aside = Path(tempfile.gettempdir()) / f"tracekit-sources-{os.getpid()}"
    # sums of floats must not depend on how many threads there are
    settings = {"threads": "1", "memory_limit": _MEMORY, "temp_directory": str(aside)}
    con = duckdb.connect(config=dict(settings))
    con.execute("SET TimeZone = 'UTC'")
    con.execute((_FOLDER / "_macros.sql").read_text(encoding="utf-8"))
    return con


@dataclass(frozen=True)
class _Reader:
    """Reads the files of one kind."""

    kind: Kind
    every: Mapping[str, Kind]
    statements: Sequence[_Statement]
    tables: tuple[str, ...]

    def __call__(self, opened: Opened) -> Read:
        """Rows and rejects of a file; raises TracekitError if a needed file beside it lacks."""
        for word, hint in self.kind.needs.items():
            if not opened.beside.get(word):
                title = self.every[word].title
                raise TracekitError(
                    f"{opened.name} needs the file of {word} beside it: {title}", hint=hint
                )
        with _database().cursor() as con:
            yield from self._read(con, opened)

    def _read(self, con: DuckDBPyConnection, opened: Opened) -> Read:
        word, parts = self.kind.word, Parts.of(opened, self.kind.word)
        self._prepare(con, opened)
        if self.kind.whole:
            yield from _keep(con, word, self._blocks(con, opened), texts=True)
            self._make(con)
            yield from self._rows(con, opened.name, None)
        else:
            for at, block in enumerate(self._blocks(con, opened)):
                con.register(word, block.good.to_arrow())
                yield from block.broken
                if at == 0:
                    self._make(con)
                yield from self._rows(con, opened.name, block.texts)
            con.unregister(word)
        if parts.first and any(one.once for one in self.statements):
            for _ in _keep(con, word, (b for one in parts.files for b in self._blocks(con, one))):
                pass
            yield from self._rows(con, opened.name, None, once=True)

    def _prepare(self, con: DuckDBPyConnection, opened: Opened) -> None:
        """Make tables of the files beside this one."""
        con.execute("SET VARIABLE file = ?", [_name(opened)])
        if self.kind.comment is not None:
            con.register("comments", _comments(opened, self.kind.comment).to_arrow())
        for word in self.kind.beside:
            files, kind = opened.beside.get(word, ()), self.every[word]
            con.execute(f"SET VARIABLE {word} = {len(files)}")
            size = sum(one.path.stat().st_size for one in files)
            some = () if 0 < self.kind.beside_bytes < size else files
            made = (
                replace(block, good=block.good.with_columns(file=pl.lit(_name(one))))
                for one in some
                for block in _blocks(con, kind, kind.own_faults, one, "")
            )
            for _ in _keep(con, word, made, kind):
                pass

    def _make(self, con: DuckDBPyConnection) -> None:
        for one in self.statements:
            if one.made:
                con.execute(f"CREATE OR REPLACE TEMP {one.made} {one.name} AS {one.text}")

    def _blocks(self, con: DuckDBPyConnection, opened: Opened) -> Iterator[_Block]:
        return _blocks(con, self.kind, self.kind.faults, opened, self.tables[0])

    def _rows(
        self,
        con: DuckDBPyConnection,
        name: str,
        texts: pl.DataFrame | None,
        *,
        once: bool = False,
    ) -> Read:
        for one in self.statements:
            if one.made or one.once != once:
                continue
            for made in con.sql(one.text).to_arrow_reader(_BATCH_ROWS):
                rows = pl.DataFrame(made)
                if one.name == "stopped" and rows.height:
                    raise TracekitError(f"{name}: {rows['what'][0]}", hint=rows["hint"][0])
                if one.name == "refused":
                    if texts is not None:
                        rows = rows.join(texts.rename({LINE: "text"}), on="line", how="left")
                    yield from (
                        _refusal(row, row.get("table", self.tables[0]))
                        for row in rows.iter_rows(named=True)
                    )
                if one.name in _OTHERS:
                    continue
                if one.name in _AMOUNTS:
                    amounts = [c for c in _AMOUNTS[one.name] if c in rows.columns]
                    rows = rows.filter(pl.any_horizontal(pl.col(amounts).is_not_null()))
                yield Batch(table=one.name, rows=rows, original=texts)


@dataclass(frozen=True)
class _Block:
    """Good rows of a file as typed values, their lines as in the file, and the broken lines."""

    good: pl.DataFrame
    texts: pl.DataFrame | None
    broken: list[Broken]


def _name(opened: Opened) -> str:
    return Path(opened.name).name.removesuffix(".gz")


def _comments(opened: Opened, mark: str) -> pl.DataFrame:
    """The comments at the beginning of a file: line, text."""
    rows = []
    with opened.stream() as stream:
        for line, raw in enumerate(stream, start=1):
            text = raw.decode(errors="replace").strip()
            if text and not text.startswith(mark):
                break
            rows.append((line, text))
    return pl.DataFrame(rows, schema={"line": pl.Int64, "text": pl.String}, orient="row")


def _keep(
    con: DuckDBPyConnection,
    name: str,
    blocks: Iterator[_Block],
    kind: Kind | None = None,
    *,
    texts: bool = False,
) -> Iterator[Broken]:
    """Make a table of all rows, which may be larger than memory; yields broken lines."""
    made = False
    if kind is not None:
        none = pl.DataFrame(schema={**{c.name: pl.String for c in kind.named}, "line": pl.Int64})
        rows = _typed(con, kind, (), none)[0].with_columns(file=pl.lit(""))
        con.register("block", rows.to_arrow())
        con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM block")
        made = True
    for block in blocks:
        yield from block.broken
        rows = block.good
        if texts and block.texts is not None:
            rows = rows.join(block.texts.rename({LINE: "text"}), on="line", maintain_order="left")
        con.register("block", rows.to_arrow())
        con.execute(
            f"INSERT INTO {name} FROM block"
            if made
            else f"CREATE OR REPLACE TEMP TABLE {name} AS FROM block"
        )
        made = True


def _blocks(
    con: DuckDBPyConnection, kind: Kind, faults: Sequence[Fault], opened: Opened, table: str
) -> Iterator[_Block]:
    for raw, broken in kind.raw(opened, table):
        made, wrong = _typed(con, kind, faults, raw)
        refused = _refusals(raw, wrong, kind, faults, table) if wrong.height else []
        originals = raw.select("line", LINE) if LINE in raw.columns else None
        yield _Block(made, originals, [*broken, *refused])


def _typed(
    con: DuckDBPyConnection, kind: Kind, faults: Sequence[Fault], raw: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows as typed values, and the rows, as in the file, that break a rule."""
    con.register("raw", raw.drop(LINE, strict=False).to_arrow())
    source = _judged(kind, faults, raw.columns)
    names = ", ".join(f'"{one.name}"' for one in kind.named)
    made = pl.DataFrame(con.sql(f"SELECT {names}, line, fault {source}").to_arrow_table())
    faulty = made["fault"].is_not_null()
    if not faulty.any():
        return made.drop("fault"), made.clear()
    # texts are looked at again where some row breaks a rule, and passed on by none
    wrong = con.sql(f"SELECT * {source} WHERE fault IS NOT NULL").to_arrow_table()
    return made.filter(~faulty).drop("fault"), pl.DataFrame(wrong)


def _judged(kind: Kind, faults: Sequence[Fault], columns: Sequence[str]) -> str:
    """Texts beside typed values, with the number of the rule that each row breaks."""
    expressions, source = {name: f'"{name}"' for name in columns}, "raw"
    if JSON in expressions:
        json = f"CASE WHEN json_valid({JSON}) THEN {JSON} END"
        source = f"CASE json_type({json}) WHEN 'OBJECT' THEN {JSON} END AS {JSON}"
        source = f"(SELECT line, {source} FROM raw)"
        expressions |= {one.name: f"nullif({JSON} ->> '$.{one.name}', '')" for one in kind.named}
    # a file may lack columns that are not needed
    names = [*(one.name for one in kind.named), *({JSON} & expressions.keys())]
    originals = ", ".join(f'{expressions.get(name, "NULL")} AS "{name}{RAW}"' for name in names)
    values = ", ".join(f'{one.value} AS "{one.name}"' for one in kind.named)
    cases = " ".join(f"WHEN {wrong} THEN {at}" for at, (_, wrong, _) in enumerate(faults))
    return (
        f"FROM (SELECT *, {f'CASE {cases} END' if cases else 'NULL::INT'} AS fault FROM"
        f" (SELECT *, {values} FROM (SELECT {originals}, line FROM {source})))"
    )


def _refusals(
    raw: pl.DataFrame, wrong: pl.DataFrame, kind: Kind, faults: Sequence[Fault], table: str
) -> list[Broken]:
    """A reject for each row that breaks a rule; it names the column as the file's header does."""
    originals = raw.filter(pl.col("line").is_in(wrong["line"].implode()))
    texts = {row["line"]: row_text(row) for row in originals.iter_rows(named=True)}
    refused = []
    for row in wrong.iter_rows(named=True):
        column, _, expected = faults[row["fault"]]
        line, text = row["line"], texts[row["line"]]
        value = text if column == JSON else row[column + RAW]
        about = {"line": line, "column": kind.heading(column), "value": value, "text": text}
        refused.append(_refusal({**about, "expected": expected}, table))
    return refused


def _refusal(row: Mapping[str, Any], table: str) -> Broken:
    shown = "empty" if row["value"] is None else f"'{str(row['value'])[:60]}'"
    return Broken(
        table=table,
        line=row["line"],
        column=None if row["column"] == JSON else row["column"],
        reason=f"is {shown}, expected {row['expected']}",
        text=str(row.get("text") or row["value"]),
    )
