"""Gaps of recorded use: unlisted containers, containers without use, samples of CPU alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tracekit.base.facts import Fact, remark
from tracekit.base.words import counted, percent
from tracekit.intake.ingest import shares
from tracekit.store.broken_rows import place_in
from tracekit.store.doubts import ONE_OF_TWO
from tracekit.store.folder import Defect
from tracekit.store.stored_rows import LISTS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: The ids that have recorded use and that no table lists: counts of samples and ids, apart by
#: whether a rejected row lists the id. Such a row begins with the id, or has it as a value. An id
#: that is a number counts only at the beginning, because elsewhere it may be an amount.
_STRANGERS = """
WITH strange AS (
    SELECT {entity}_id.{entity} AS name, count(*) AS samples
    FROM {entity}_amount_keyed AS a
    JOIN {entity}_id ON {entity}_id.{entity}_key = a.{entity}_key
    WHERE a.{entity}_key NOT IN ({listed})
    GROUP BY 1
), broken AS (
    SELECT source_file, line, string_split(text, ',') AS fields,
           regexp_extract(text, '^(.+?): [{{]', 1) AS object, text
    FROM reject
    WHERE "table" IN ({tables})
), field AS (
    SELECT source_file, line, unnest(fields) AS value, unnest(range(len(fields))) AS place
    FROM broken
), named AS (
    SELECT source_file, line, place,
           regexp_replace(trim(value, ' "'), '^{entity}=', '') AS name
    FROM field
    UNION ALL
    SELECT source_file, line, 0, unnest([object, text]) FROM broken
), own AS (
    SELECT name, min((source_file, line)) AS place
    FROM named
    WHERE name IN (SELECT name FROM strange)
      AND (place = 0 OR TRY_CAST(name AS DOUBLE) IS NULL)
    GROUP BY name
)
SELECT own.name IS NOT NULL AS broken, sum(samples), count(*), min(strange.name),
       arg_min(own.place[1], strange.name), arg_min(own.place[2], strange.name)
FROM strange LEFT JOIN own ON own.name = strange.name
GROUP BY 1
ORDER BY 1 DESC
"""
#: The keys of the listed ids, by entity.
_LISTED = {
    "container": "SELECT container_key FROM place",
    "node": "SELECT node_key FROM node_keyed UNION SELECT node_key FROM node_resource_keyed",
}

#: The listed containers that run while use is recorded, and the numbers of them without recorded
#: CPU and without recorded memory.
_SILENT = """
WITH span AS (
    SELECT min(time_ms) AS first_ms, max(time_ms) AS last_ms
    FROM container_amount_keyed
    WHERE resource IN ('cpu', 'memory')
), told AS (
    SELECT container_key, bool_or(resource = 'cpu') AS cpu, bool_or(resource = 'memory') AS memory
    FROM container_amount_keyed
    WHERE resource IN ('cpu', 'memory')
    GROUP BY container_key
)
SELECT count(DISTINCT c.container_key),
       count(DISTINCT c.container_key) FILTER (NOT coalesce(told.cpu, false)),
       count(DISTINCT c.container_key) FILTER (NOT coalesce(told.memory, false))
FROM container_keyed AS c
CROSS JOIN span
LEFT JOIN told ON told.container_key = c.container_key
WHERE c.node_key IS NOT NULL AND c.time_ms <= span.last_ms
  AND coalesce(c.departure_ms > span.first_ms, true)
"""


def strangers(con: DuckDBPyConnection, entities: Sequence[str]) -> Iterator[Fact]:
    """Facts about recorded use of ids that no file lists, or that only rejected rows list.

    Parameters
    ----------
    entities : the entities of which the store lists some: container, node
    """
    for entity in entities:
        tables = ", ".join(f"'{one}'" for one in LISTS[entity])
        sql = _STRANGERS.format(entity=entity, listed=_LISTED[entity], tables=tables)
        for broken, samples, count, name, file, line in con.sql(sql).fetchall():
            yield remark(
                "use_of_rejects" if broken else "use_of_unlisted",
                int(samples),
                kind="doubt",
                table=f"{entity}_amount",
                of=count,
                example=f"{name} ({file}, {place_in(file, line)})" if broken else name,
            )


def silent_use(con: DuckDBPyConnection) -> tuple[int, str]:
    """The number of containers that lack recorded CPU or memory, and a sentence about them.

    The sentence is empty if no container lacks either.
    """
    [(containers, cpu, memory)] = con.sql(_SILENT).fetchall()
    parts = [
        f"{count:,} {'have' if count > 1 else 'has'} no recorded use of {what}"
        for what, count in (("CPU", cpu), ("memory", memory))
        if count
    ]
    if not parts:
        return 0, ""
    # if all containers lack CPU, or all lack memory, the table of fractions has no row
    whole = (
        ""
        if containers not in (cpu, memory)
        else (", and analyses that go by use of both have nothing to read")
    )
    return max(cpu, memory), (
        f"of {counted(containers, 'container')} on nodes {' and '.join(parts)}: a replay takes"
        " what they"
        f" request{whole}"
    )


def one_of_two(con: DuckDBPyConnection, table: str) -> Defect | None:
    """The defect of samples that no row of fractions uses, because CPU or memory is silent then.

    The temporary table ``held`` must exist. Entities without any sample of one of the two do not
    count here.
    """
    [(times, cpu, memory, entities)] = con.sql(shares.SILENT).fetchall()
    if not cpu + memory:
        return None
    silent = " and ".join(
        f"{what} is silent at {count:,} ({percent(count / times)})"
        for what, count in (("CPU", cpu), ("memory", memory))
        if count
    )
    of = counted(entities, table.removesuffix("_usage"))
    return Defect(
        defect=ONE_OF_TWO,
        column="cpu_fraction, memory_fraction",
        rows=cpu + memory,
        action="left out of the shares, kept as amounts",
        example=f"of {times:,} times at which use of {of} was sampled {silent}: analyses that go"
        " by use of both leave these out, a replay and size read what there is",
    )
