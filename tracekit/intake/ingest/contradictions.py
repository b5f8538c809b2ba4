"""Rejects rows of a user's own tables that contradict an earlier statement.

If two rows state something about the same node or container, the first statement holds. A row is
compared with the earlier rows of its file, and with the rows of the store. A statement of another
source, such as a list of kubectl, holds at all times. Within a user's own tables a row of another
time states a change, which is no contradiction. A row that contradicts a statement becomes a reject
with both values. If its line gives rows of several tables, all these rows leave.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tracekit.intake.ingest.staged import CONTRADICTS, Columns, RejectsWriter, column_types
from tracekit.intake.read.by_reader import opened
from tracekit.intake.read.coded import LINE, kind_of
from tracekit.store.folder import Store
from tracekit.store.stored_rows import FILE, FOREIGN, rows_of
from tracekit.store.tables import Table, all_tables

if TYPE_CHECKING:
    from tracekit.intake.ingest.staged import Staged
    from tracekit.intake.read.discover import TraceFile

#: The columns that identify the subject of a row, by table. A row of another time is another
#: statement, except in the table of containers.
_ABOUT: Mapping[str, Sequence[str]] = {
    "node": ("node",),
    "node_resource": ("node", "resource", "cell", "unit"),
    "container": ("container",),
    "container_resource": ("container", "resource", "unit"),
}
#: Tables in which a later row cannot add values that the first row lacks.
_WHOLE = frozenset({"container", "container_resource"})
_NO_STATEMENT = frozenset({"time_ms", "position"})
_DOCUMENTS = frozenset({"labels", "rules", "selector", "tolerations", "taints"})
_SHOWN_COLUMNS, _SHOWN_CHARACTERS = 3, 60
_REJECTS = {"line": pl.Int64, "column": pl.String, "reason": pl.String, "text": pl.String}

#: Selects the staged rows that may contradict a statement, each with the values of the statement
#: that holds: the last one of another source, or else the first one of the same time.
_CONTRADICTIONS = """
WITH compared AS (
    SELECT * FROM stored SEMI JOIN staged USING ({entity})
), own AS (
    SELECT * FROM compared WHERE NOT "foreign" UNION ALL BY NAME SELECT * FROM staged
), firsts AS (
    SELECT *, {firsts}, CASE WHEN first_value(nth) OVER statement = {last}
        THEN 'line ' || first_value(line) OVER statement
        ELSE first_value(file) OVER statement END AS first_file
    FROM own WINDOW statement AS (PARTITION BY {partition} ORDER BY nth, line)
), others AS (
    SELECT DISTINCT ON ({about}) * FROM compared WHERE "foreign" ORDER BY {about}, time_ms DESC
), both_of AS (
    SELECT one.* REPLACE ({replaced})
    FROM firsts AS one LEFT JOIN others AS other ON {same}
    WHERE one.nth = {last}
)
SELECT * FROM both_of WHERE {otherwise} ORDER BY line
"""


def without_contradictions(
    staged: Sequence[Staged], file: TraceFile, store: Store
) -> tuple[Staged, ...]:
    """Return a file's staged tables; lines that contradict an earlier statement become rejects.

    A statement is what an earlier file, or an earlier line, says of a node or container.

    Parameters
    ----------
    staged : the tables of one file
    store : the store before this file, on this machine
    """
    wrong: dict[int, list[_Contradiction]] = {}
    for one in staged:
        for each in _contradictions(one, store) if one.rows and one.table in _ABOUT else ():
            wrong.setdefault(each.line, []).append(each)
    if not wrong:
        return tuple(staged)
    texts = _texts(file, wrong.keys())
    broken = staged[0].lines_broken + len(wrong)
    cleaned = []
    for one in staged:
        rejects = [
            (line, some[0].column, _reason(some), texts[line])
            for line, some in wrong.items()
            if some[0].table == one.table
        ]
        added = pl.DataFrame(rejects, schema=_REJECTS, orient="row")
        whole = replace(_without(one, list(wrong)), lines_broken=broken)
        cleaned.append(_with_rejects(whole, file.name, added))
    return tuple(cleaned)


class _Contradiction(NamedTuple):
    """A value in a line that contradicts a statement.

    Attributes
    ----------
    of : the node or container
    file : the file, or the line of the same file, that has the statement
    values : the column with both values, in words
    """

    line: int
    table: str
    column: str
    of: str
    file: str
    values: str


def _reason(some: Sequence[_Contradiction]) -> str:
    first, values = some[0], ", ".join(one.values for one in some[:_SHOWN_COLUMNS])
    return f"{CONTRADICTS} {first.file} on {first.of}: {values}"


def _contradictions(staged: Staged, store: Store) -> Iterator[_Contradiction]:
    """The contradictions in the staged rows, in the order of lines and columns."""
    table = all_tables()[staged.table]
    for row in _candidates(staged, table, store).iter_rows(named=True):
        what = f" of {row['resource']}" if "resource" in row else ""
        for column in _stated(table):
            if _differs(table, column, row):
                yield _Contradiction(
                    line=row[LINE],
                    table=table.name,
                    column=column,
                    of=f"{table.entity} {row[str(table.entity)]}",
                    file=row["first_file"],
                    values=f"{column}{what} is {_shown(row[column])},"
                    f" there {_shown(row[f'first_{column}'])}",
                )


def _candidates(staged: Staged, table: Table, store: Store) -> pl.DataFrame:
    """Rows that may contradict a statement.

    The columns are those of the table; ``first_NAME`` for each, with the value that holds; and
    ``first_file``.
    """
    import duckdb  # noqa: PLC0415 - the processes that read and sort never get here

    about, values = _ABOUT[table.name], _stated(table)
    whole = table.name in _WHOLE
    partition = [*about, *(("time_ms",) if table.name != "container" else ())]
    ignore = "" if whole else "IGNORE NULLS"
    # a later row may state a change of a node: that it is cordoned, or has left
    then = ["one.time_ms <= other.time_ms"] if table.name == "node" else []
    sql = _CONTRADICTIONS.format(
        entity=table.entity,
        about=", ".join(about),
        partition=", ".join(partition),
        firsts=", ".join(
            f'first_value("{one}" {ignore}) OVER statement AS "first_{one}"' for one in values
        ),
        replaced=", ".join(
            f'CASE WHEN other.file IS NULL THEN one."first_{one}" ELSE other."{to}" END'
            f' AS "first_{one}"'
            for one, to in [*((one, one) for one in values), ("file", "file")]
        ),
        same=" AND ".join(
            [*(f"one.{key} IS NOT DISTINCT FROM other.{key}" for key in about), *then]
        ),
        last=_NTH_STAGED,
        otherwise=" OR ".join(
            f'("{one}" IS NOT NULL AND "{one}" IS DISTINCT FROM "first_{one}"'
            f' AND ({whole} OR "first_{one}" IS NOT NULL))'
            for one in values
        ),
    )
    with duckdb.connect(config={"threads": 1}) as con:
        con.register("staged", _staged_rows(staged, table).to_arrow())
        con.register("stored", _stored_rows(store, table).to_arrow())
        return pl.DataFrame(con.sql(sql).to_arrow_table())


#: The order number of staged rows; stored rows have lower numbers.
_NTH_STAGED = 1 << 40


def _stated(table: Table) -> list[str]:
    """The columns of a table that hold statements."""
    return [
        one.name
        for one in table.columns
        if one.name not in {*_ABOUT[table.name], *_NO_STATEMENT} or (one.name, table.name) in _TIMES
    ]


#: The time that is a statement: a container arrives once.
_TIMES = frozenset({("time_ms", "container")})


def _staged_rows(staged: Staged, table: Table) -> pl.DataFrame:
    """The staged rows with ids and texts in place of the file's keys."""
    columns = Columns(staged.folder / "rows", table, staged.rows)
    rows = {}
    for one in table.columns:
        values: Any = columns.read(one.name, 0, staged.rows)
        if one.kind in {"id", "text"}:
            names = staged.names(kind_of(one))
            absent = pl.Series(values < 0)
            keys = pl.Series(np.maximum(values, 0))
            rows[one.name] = (names.gather(keys) if len(names) else absent.cast(pl.String)).set(
                absent, None
            )
        elif one.kind == "number":
            rows[one.name] = pl.Series(values).fill_nan(None)
        else:
            rows[one.name] = pl.Series(values)
    return pl.DataFrame(rows).with_columns(
        pl.Series(LINE, columns.read(LINE, 0, staged.rows)),
        file=pl.lit(""),
        foreign=pl.lit(value=False),
        nth=pl.lit(_NTH_STAGED),
    )


def _stored_rows(store: Store, table: Table) -> pl.DataFrame:
    """The rows of a table in the store, in the order in which they came in."""
    if store.manifest.stated(table.name):
        rows = rows_of(store, table.name)
    else:
        kinds = {"id": pl.String, "text": pl.String, "number": pl.Float64, "time": pl.Int64}
        schema = {one.name: kinds[one.kind] for one in table.columns}
        rows = pl.DataFrame(schema={**schema, FILE: pl.String, FOREIGN: pl.Boolean})
    return rows.rename({FILE: "file", FOREIGN: "foreign"}).with_columns(
        pl.int_range(pl.len()).alias("nth"), pl.lit(0, pl.Int64).alias(LINE)
    )


def _differs(table: Table, column: str, row: Mapping[str, Any]) -> bool:
    """Whether a row's value of a column contradicts the value that holds."""
    now, first = row[column], row[f"first_{column}"]
    if now is None or now == first or (first is None and table.name not in _WHOLE):
        return False
    if column not in _DOCUMENTS:
        return True
    try:
        one, other = json.loads(now), json.loads(first or "null")
    except (ValueError, RecursionError):
        return True
    if table.name == "node" and isinstance(one, dict) and isinstance(other, dict):
        # a row may add labels to those of a node
        return any(str(other.get(key, value)) != str(value) for key, value in one.items())
    return bool(one != other)


def _shown(value: object) -> str:
    if value is None:
        return "empty"
    return f"{value:.15g}" if isinstance(value, float) else str(value)[:_SHOWN_CHARACTERS]


def _texts(file: TraceFile, lines: Collection[int]) -> dict[int, str]:
    """The text of some lines of a CSV; empty texts for other files."""
    texts = dict.fromkeys(lines, "")
    if "csv" in file.kind:
        with opened(file.path, file.name).stream() as stream:
            for number, line in enumerate(stream, start=1):
                if number in texts:
                    texts[number] = line.decode(errors="replace").rstrip("\r\n")
    return texts


def _without(staged: Staged, lines: Sequence[int]) -> Staged:
    """The staged table without the rows of some lines."""
    table = all_tables()[staged.table]
    columns = Columns(staged.folder / "rows", table, staged.rows)
    is_staying = ~np.isin(columns.read(LINE, 0, staged.rows), lines)
    for name in column_types(table):
        values = columns.read(name, 0, staged.rows)
        values[is_staying].tofile(staged.folder / "rows" / f"{name}.bin")
    return replace(staged, rows=int(is_staying.sum()))


def _with_rejects(staged: Staged, name: str, added: pl.DataFrame) -> Staged:
    """The staged table with more rejects, in the order of their lines."""
    if not added.height:
        return staged
    before = (
        pl.read_parquet(staged.rejects).select(list(_REJECTS)) if staged.rejected else added[:0]
    )
    writer = RejectsWriter(staged.rejects, name)
    writer.append(pl.concat([before, added]).sort("line", maintain_order=True))
    writer.close()
    return replace(staged, rejected=writer.rows, reject_defects=tuple(writer.defects()))
