"""Leaves out rows that an earlier file has as well: the first file's row counts.

Of several samples of the same series and time the first counts, whatever the values. In a user's
own tables of nodes and containers a row leaves if it states nothing that the first row does not
state. A row that states more stays; a row that contradicts the first is already a reject. A
statement of another source holds at all times: a user's own row about the same node or container
leaves, whatever its values, even if it came in earlier.

The first file is the one that was ingested first; of files in one folder it is the first by name.
A part with such rows is written again without them, under a new number. The store is unchanged
until the manifest names the new part.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from tracekit.base.files.durable import put
from tracekit.base.files.result_folder import checksum
from tracekit.base.words import agreeing, counted
from tracekit.intake.ingest.sort import part_writer
from tracekit.store.doubts import OTHERWISE
from tracekit.store.folder import STAGING, Defect, Manifest, SourceEntry, part_path, rejects_path
from tracekit.store.stored_rows import OWN, STATED
from tracekit.store.tables import Table, all_tables
from tracekit.store.views import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from tracekit.base.arrays import IntArray

#: The defect of samples that an earlier file has with the same values.
TWICE = "sample_in_two_files"
#: The defect of rows about a node or a container that an earlier file has as well.
STATED_TWICE = "row_in_two_files"
LEFT_OUT = "left out: the first file's count"
#: The tables that are compared: amounts of any source; other tables only of a user's own files.
_AMOUNTS = ("container_amount", "node_amount")
_SAMPLED = (*_AMOUNTS, "container_usage", "node_usage")
_NAMES = (*_SAMPLED, *STATED)
#: The columns that identify the subject of a row, for tables in which other sources hold.
_ABOUT: Mapping[str, Sequence[str]] = {
    "container": ("container_key",),
    "container_resource": ("container_key", "resource", "unit"),
    "node_resource": ("node_key", "resource", "cell", "unit"),
}
#: The row's place in its file, which is no statement.
_PLACE = "position"

#: Selects the series whose times overlap in two files; only their rows are compared.
_SHARED = """
WITH span AS (
    SELECT {series}, min(time_ms) AS first_ms, max(time_ms) AS last_ms
    FROM read_parquet([{files}], filename = true)
    GROUP BY {series}, filename
), apart AS (
    SELECT *, max(last_ms) OVER (
        PARTITION BY {series} ORDER BY first_ms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before_ms
    FROM span
)
SELECT DISTINCT {series} FROM apart WHERE {reaches}
"""
_TWICE = """
SELECT {keys} FROM read_parquet([{files}]) AS one SEMI JOIN shared ON {in_shared}
GROUP BY {keys} HAVING count(*) > 1
"""
#: The rows with the same key, each with the values of the first row.
_AGAIN = """
WITH row_of AS (
    SELECT *, list_position([{files}], filename) AS nth
    FROM read_parquet([{files}], filename = true, file_row_number = true) AS one
    SEMI JOIN twice ON {in_twice}
), ranked AS (
    SELECT {keys}, {values}, {also} nth, file_row_number AS nth_row, {firsts},
           row_number() OVER of_one AS nth_of_one, first_value(nth) OVER of_one AS first_nth
    FROM row_of
    WINDOW of_one AS (PARTITION BY {keys} ORDER BY {holds}, nth, file_row_number)
)
SELECT *, nth_of_one > 1 AND {goes} AS later FROM ranked
"""
#: Whether the first row is of another source and this row is not; and the order in which, of rows
#: of other sources, the last one is the first row.
_GOES_FOREIGN = "first_nth <= {0} AND nth > {0}"
_LAST_OF_FOREIGN = "nth > {0}, CASE WHEN nth <= {0} THEN -time_ms END"
#: The id that a key stands for.
_NAME = "(SELECT {0} FROM {0}_id AS id WHERE id.{0}_key = again.{1})"
#: Whether a value differs from that of the first row.
_OTHER = '"{0}" IS DISTINCT FROM first_{0}'

#: For each part, the numbers of rows, of entities, and of rows with other values.
_COUNTS = """
SELECT nth, count(*), count(DISTINCT {entity}_key), count(*) FILTER ({other})
FROM again WHERE later GROUP BY nth ORDER BY nth
"""
_EXAMPLE = """
SELECT (
    SELECT {entity} FROM {entity}_id AS id WHERE id.{entity}_key = again.{entity}_key
) AS name, time_ms, first_nth, {what} AS what, {shown}
FROM again
WHERE later AND nth = {nth} ORDER BY ({other}) DESC, time_ms, name, {keys} LIMIT 1
"""


def counted_once(
    con: DuckDBPyConnection, folder: Path, manifest: Manifest
) -> tuple[Manifest, list[str]]:
    """Remove repeated rows: write a part again without rows that an earlier part also has.

    Parameters
    ----------
    con : connection
        A connection that has the views of the store.

    Returns
    -------
    The manifest with the new parts, and the paths of the parts that it no longer names.
    """
    gone: list[str] = []
    for planned in _comparisons(manifest):
        changed: dict[int, SourceEntry] = {}
        # a comparison before may have written some of its parts again
        now = {_identity(one): one for one in manifest.sources}
        compared = replace(planned, entries=[now[_identity(one)] for one in planned.entries])
        for nth, defect in _repeats(con, folder, compared):
            entry = compared.entries[nth]
            last = max(one.part for one in (*manifest.parts(entry.table), *changed.values()))
            at = con.sql(f"SELECT nth_row FROM again WHERE later AND nth = {nth + 1}").fetchnumpy()[
                "nth_row"
            ]
            changed[id(entry)] = _without_rows(folder, entry, np.asarray(at), last + 1, defect)
        for one in compared.entries:
            if id(one) in changed:
                gone += (part_path(one.table, one.part), rejects_path(one.table, one.part))
        sources = tuple(changed.get(id(one), one) for one in manifest.sources)
        manifest = replace(manifest, sources=sources)
    return manifest, gone


def _identity(entry: SourceEntry) -> tuple[str, str, str]:
    return entry.file, entry.table, entry.content


@dataclass(frozen=True)
class _Comparison:
    """Parts of a table that are compared; of equal rows the row of the first part counts.

    Parameters
    ----------
    about : sequence of str
        The columns that are equal in rows about the same thing.
    foreign : int
        The number of parts of other sources, which come first and lose no row. If it is 0, each
        part may lose rows to an earlier part.
    """

    table: Table
    entries: Sequence[SourceEntry]
    about: Sequence[str]
    foreign: int = 0


def _comparisons(manifest: Manifest) -> Iterator[_Comparison]:
    """The comparisons: other sources with a user's own tables, then files of the same table."""
    for name in _ABOUT:
        stated = manifest.stated(name)
        others = [one for one in stated if one.release != OWN]
        own = [one for one in stated if one.release == OWN]
        if own and others:
            table = all_tables()[name]
            yield _Comparison(table, [*others, *own], _ABOUT[name], len(others))
    for name in _NAMES:
        entries = manifest.stated(name)
        if name not in _AMOUNTS:
            entries = [one for one in entries if one.release == OWN]
        if len(entries) > 1:
            table = all_tables()[name]
            keys = [one.stored_name for one in table.columns if one.name in table.key]
            yield _Comparison(table, entries, keys)


def may_repeat(manifest: Manifest) -> bool:
    """Return whether parts of the store may hold the same rows, and must be compared."""
    return any(True for _ in _comparisons(manifest))


def _repeats(
    con: DuckDBPyConnection, folder: Path, compared: _Comparison
) -> Iterator[tuple[int, Defect]]:
    """The indices of the parts that lose rows, each with its defect; makes the table ``again``."""
    table, entries = compared.table, compared.entries
    values, named = _in_words(compared, folder)
    other = named["other"]
    for statement, made in ((_SHARED, "shared"), (_TWICE, "twice"), (_AGAIN, "again")):
        con.execute(f"CREATE OR REPLACE TEMP TABLE {made} AS {statement.format(**named)}")
        if not con.sql(f"SELECT count(*) FROM {made}").fetchall()[0][0]:
            return
    counts = con.sql(_COUNTS.format(entity=table.entity, other=f"WHERE {other}")).fetchall()
    for nth, samples, count, others in counts:
        example = con.sql(_EXAMPLE.format(**named, nth=nth)).fetchall()[0]
        files_of_two = entries[nth - 1].file, entries[example[2] - 1].file
        stand = _stand_in(samples, count, table, *files_of_two)
        yield (
            nth - 1,
            Defect(
                defect=OTHERWISE if others else STATED_TWICE if table.name in STATED else TWICE,
                column="time_ms",
                rows=samples,
                action=LEFT_OUT,
                example=f"{stand}, {_otherwise(others, values, example)}",
            ),
        )


def _in_words(compared: _Comparison, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The columns with statements, and the texts to format the SQL statements with."""
    table, keys = compared.table, compared.about
    stated = table.name in STATED
    # a size of another source holds at all times, so the time of an own row contradicts nothing
    timed = () if table.name == "container" else ("time_ms",)
    others_of = {*keys, *timed, _PLACE} if stated else set(keys)
    values = [one.stored_name for one in table.columns if one.stored_name not in others_of]
    series = [one for one in keys if one != "time_ms"]
    # an empty value of a node or container contradicts nothing
    differs = '"{0}" IS NOT NULL AND "{0}" IS DISTINCT FROM first_{0}' if stated else _OTHER
    other = " OR ".join(f"({differs.format(one)})" for one in values)
    leaves, holds = f"NOT ({other})" if stated else "true", "1"
    if compared.foreign:
        leaves, holds = (one.format(compared.foreign) for one in (_GOES_FOREIGN, _LAST_OF_FOREIGN))
    paths = (folder / part_path(one.table, one.part) for one in compared.entries)
    entities = {one.stored_name: one.entity for one in table.columns if one.entity}
    return values, {
        "files": ", ".join(f"'{quoted(path)}'" for path in paths),
        "entity": table.entity or "",
        "keys": ", ".join(keys),
        "series": ", ".join(series),
        # ``limit`` is a keyword of SQL
        "values": ", ".join(f'"{one}"' for one in values),
        "firsts": ", ".join(f'first_value("{one}") OVER of_one AS first_{one}' for one in values),
        "other": other,
        "goes": leaves,
        "holds": holds,
        "also": "" if "time_ms" in {*keys, *values} else "time_ms,",
        "reaches": "true" if stated else "before_ms >= first_ms",
        "in_shared": _same(series, "shared"),
        "in_twice": _same(keys, "twice"),
        "what": "resource" if "resource" in keys else "NULL",
        "shown": ", ".join(
            _NAME.format(entities[one], f"{end}{one}") if one in entities else f'"{end}{one}"'
            for end in ("", "first_")
            for one in values
        ),
    }


def _stand_in(rows: int, entities: int, table: Table, file: str, other: str) -> str:
    """A clause with the numbers of rows and entities of a file that another file has as well."""
    return agreeing(
        rows,
        f"{'[row|rows]' if table.name in STATED else '[sample|samples]'} of"
        f" {counted(entities, table.entity or '')} in {file} [stands|stand] in {other}, too",
    )


def _same(columns: Sequence[str], other: str) -> str:
    """The SQL condition that rows are equal in these columns; NULL equals NULL."""
    return " AND ".join(f"one.{name} IS NOT DISTINCT FROM {other}.{name}" for name in columns)


def _otherwise(others: int, values: Sequence[str], example: tuple[object, ...]) -> str:
    """A clause with the number of rows with other values, and an example with both values."""
    if not others:
        return "with the same values"
    entity, time_ms, _, what, *amounts = example
    pairs = list(zip(values, amounts, amounts[len(values) :], strict=False))
    shown = [
        (name.removesuffix("_key"), now, was) for name, now, was in pairs if now not in (was, None)
    ]
    now = ", ".join(f"{what or name} {_shown(one)}" for name, one, _ in shown)
    was = ", ".join(_shown(one) for _, _, one in shown)
    return (
        f"{others:,} with other values, as of {entity} at {time_ms}: {now}; what stands there,"
        f" {was}, counts"
    )


def _shown(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _without_rows(
    folder: Path, entry: SourceEntry, rows: IntArray, part: int, defect: Defect
) -> SourceEntry:
    """Write a part again without some rows, as part number ``part``; returns the new entry."""
    old, new = part_path(entry.table, entry.part), part_path(entry.table, part)
    aside = folder / STAGING / "once.parquet"
    aside.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetFile(folder / old) as source:
        is_staying = np.ones(source.metadata.num_rows, dtype=np.bool_)
        is_staying[rows] = False
        with part_writer(aside, all_tables()[entry.table]) as out:
            first = 0
            for group in range(source.num_row_groups):
                read = source.read_row_group(group)
                left = read.filter(is_staying[first : first + read.num_rows])
                first += read.num_rows
                if left.num_rows:
                    out.write_table(left)
    sums = {path: one for path, one in entry.checksums.items() if path != old}
    sums[new] = checksum(aside)
    moves = {aside: folder / new}
    rejects = rejects_path(entry.table, entry.part)
    if (folder / rejects).exists():
        moved = rejects_path(entry.table, part)
        beside = aside.with_name("once-rejects.parquet")
        shutil.copyfile(folder / rejects, beside)
        sums[moved] = sums.pop(rejects, checksum(beside))
        moves[beside] = folder / moved
    put(moves, folder)
    return replace(
        entry,
        part=part,
        rows=int(is_staying.sum()),
        duplicates_dropped=entry.duplicates_dropped + len(rows),
        defects=(*entry.defects, defect),
        checksums=sums,
    )
