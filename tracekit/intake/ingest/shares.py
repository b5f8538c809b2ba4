"""SQL for ``derive``: fractions of use from amounts and sizes, and gaps of the recorded use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tracekit.base.constants import (
    SILENCE_DISTANCES,
    SILENCE_ENOUGH_DISTANCES,
    SILENCE_LEAST_MS,
)
from tracekit.base.facts import Fact, remark
from tracekit.base.units import EPOCH_FROM_MS
from tracekit.base.words import counted, percent
from tracekit.store.broken_rows import place_in
from tracekit.store.doubts import ONE_OF_TWO
from tracekit.store.folder import Defect
from tracekit.store.stored_rows import LISTS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Makes tables of sizes. A size holds from its time until the next one; the first holds before its
#: time as well. A capacity without a time counts only if no dated capacity is stated.
SIZES = f"""
CREATE TEMP TABLE capacity AS
WITH stated AS (
    SELECT node_key, resource, unit, time_ms, min(amount) AS amount
    FROM node_resource_keyed
    WHERE cell IS NULL AND resource IN ('cpu', 'memory') AND amount > 0
    GROUP BY ALL
), dated AS (
    SELECT *, max(time_ms) OVER of_one >= {EPOCH_FROM_MS} AND time_ms < {EPOCH_FROM_MS} AS undated
    FROM stated
    WINDOW of_one AS (PARTITION BY node_key, resource, unit)
)
SELECT node_key, resource, unit,
       CASE WHEN row_number() OVER earlier = 1 THEN -9000000000000000 ELSE time_ms END AS from_ms,
       coalesce(lead(time_ms) OVER earlier, 9000000000000000) AS until_ms,
       amount
FROM dated
WHERE NOT undated
WINDOW earlier AS (PARTITION BY node_key, resource, unit ORDER BY time_ms);

CREATE TEMP TABLE place AS
SELECT container_key, any_value(node_key) AS node_key, any_value(service_key) AS service_key
FROM container_keyed GROUP BY container_key;

CREATE TEMP TABLE size AS
SELECT container_key, resource, unit,
       CASE WHEN row_number() OVER earlier = 1 THEN -9000000000000000 ELSE time_ms END AS from_ms,
       coalesce(lead(time_ms) OVER earlier, 9000000000000000) AS until_ms,
       coalesce(nullif(request, 0), nullif("limit", 0)) AS amount
FROM container_resource_keyed
WHERE resource IN ('cpu', 'memory')
  AND (container_key IN (SELECT container_key FROM place) OR NOT EXISTS (SELECT 1 FROM place))
WINDOW earlier AS (PARTITION BY container_key, resource, unit ORDER BY time_ms);
"""
_OF_CONTAINERS = """
SELECT a.time_ms, a.container_key AS key, a.resource,
       max(a.amount / coalesce(size.amount, capacity.amount)) AS share
FROM container_amount_keyed AS a
LEFT JOIN place ON place.container_key = a.container_key
LEFT JOIN size
    ON size.container_key = a.container_key AND size.resource = a.resource
    AND size.unit = a.unit AND a.time_ms >= size.from_ms AND a.time_ms < size.until_ms
LEFT JOIN capacity
    ON capacity.node_key = place.node_key AND capacity.resource = a.resource
    AND capacity.unit = a.unit AND a.time_ms >= capacity.from_ms AND a.time_ms < capacity.until_ms
WHERE a.resource IN ('cpu', 'memory')
GROUP BY ALL
"""
_OF_NODES = """
SELECT a.time_ms, a.node_key AS key, a.resource, max(a.amount / capacity.amount) AS share
FROM node_amount_keyed AS a
JOIN capacity
    ON capacity.node_key = a.node_key AND capacity.resource = a.resource
    AND capacity.unit = a.unit AND a.time_ms >= capacity.from_ms AND a.time_ms < capacity.until_ms
WHERE a.resource IN ('cpu', 'memory')
GROUP BY ALL
"""
#: Makes ``held``: each sample with the last sample of the other resource, until that is silent.
_HELD = f"""
CREATE OR REPLACE TEMP TABLE held AS
WITH share_of AS ({{shares}}), gap AS (
    SELECT key, resource,
           time_ms - lag(time_ms) OVER (PARTITION BY key, resource ORDER BY time_ms) AS gap_ms
    FROM share_of
    WHERE share IS NOT NULL
), common AS (
    SELECT resource, mode(gap_ms) AS gap_ms FROM gap GROUP BY resource
), silence AS (
    SELECT gap.key, gap.resource,
           CAST(greatest({SILENCE_LEAST_MS}, {SILENCE_DISTANCES} * CASE
               WHEN count(gap.gap_ms) >= {SILENCE_ENOUGH_DISTANCES} THEN median(gap.gap_ms)
               ELSE any_value(common.gap_ms)
           END) AS BIGINT) AS silence_ms
    FROM gap JOIN common ON common.resource = gap.resource
    GROUP BY gap.key, gap.resource
), paired AS (
    SELECT key, time_ms,
           max(share) FILTER (WHERE resource = 'cpu') AS cpu,
           max(share) FILTER (WHERE resource = 'memory') AS memory
    FROM share_of
    GROUP BY key, time_ms
), last AS (
    SELECT key, time_ms, cpu, memory,
           last_value(cpu IGNORE NULLS) OVER so_far AS cpu_held,
           last_value(memory IGNORE NULLS) OVER so_far AS memory_held,
           max(time_ms) FILTER (WHERE cpu IS NOT NULL) OVER so_far AS cpu_ms,
           max(time_ms) FILTER (WHERE memory IS NOT NULL) OVER so_far AS memory_ms,
           min(time_ms) FILTER (WHERE cpu IS NOT NULL) OVER of_one AS first_cpu_ms,
           min(time_ms) FILTER (WHERE memory IS NOT NULL) OVER of_one AS first_memory_ms,
           count(cpu) OVER of_one >= count(memory) OVER of_one AS by_cpu
    FROM paired
    WINDOW so_far AS (PARTITION BY key ORDER BY time_ms), of_one AS (PARTITION BY key)
)
SELECT last.key, time_ms,
       CASE WHEN time_ms - cpu_ms <= c.silence_ms THEN cpu_held END AS cpu_fraction,
       CASE WHEN time_ms - memory_ms <= m.silence_ms THEN memory_held END AS memory_fraction,
       CASE WHEN by_cpu THEN cpu ELSE memory END IS NOT NULL AS sampled,
       first_cpu_ms - time_ms BETWEEN 1 AND c.silence_ms
       OR first_memory_ms - time_ms BETWEEN 1 AND m.silence_ms AS begins
FROM last
JOIN silence AS c ON c.key = last.key AND c.resource = 'cpu'
JOIN silence AS m ON m.key = last.key AND m.resource = 'memory'
"""
CONTAINERS_HELD, NODES_HELD = (_HELD.format(shares=one) for one in (_OF_CONTAINERS, _OF_NODES))
CONTAINERS = """
SELECT held.time_ms, service_id.service, container_id.container, node_id.node,
       held.cpu_fraction, held.memory_fraction
FROM held
JOIN container_id ON container_id.container_key = held.key
LEFT JOIN place ON place.container_key = held.key
LEFT JOIN node_id ON node_id.node_key = place.node_key
LEFT JOIN service_id ON service_id.service_key = place.service_key
WHERE held.sampled AND held.cpu_fraction IS NOT NULL AND held.memory_fraction IS NOT NULL
ORDER BY node_id.node, container_id.container, held.time_ms
"""
NODES = """
SELECT held.time_ms, node_id.node, held.cpu_fraction, held.memory_fraction
FROM held
JOIN node_id ON node_id.node_key = held.key
WHERE held.sampled AND held.cpu_fraction IS NOT NULL AND held.memory_fraction IS NOT NULL
ORDER BY node_id.node, held.time_ms
"""
#: The number of times with a sample, the numbers of them at which CPU and memory are silent, and
#: the number of entities. Times shortly before the first sample of a resource do not count as
#: silent, because a counter has no rate yet.
SILENT = """
SELECT count(*),
       count(*) FILTER (WHERE cpu_fraction IS NULL AND NOT begins),
       count(*) FILTER (WHERE memory_fraction IS NULL AND NOT begins),
       count(DISTINCT key)
FROM held
"""
#: Sums the use of containers by node. Only series with a long gap are checked for silence.
SUMS = f"""
WITH step AS (
    SELECT coalesce(mode(gap_ms), 30000) AS step_ms
    FROM (
        SELECT time_ms - lag(time_ms) OVER (
            PARTITION BY container_key ORDER BY time_ms
        ) AS gap_ms
        FROM container_amount_keyed
        WHERE resource = 'cpu'
    ) AS of_cpu
    WHERE gap_ms > 0
), grid AS (
    SELECT a.container_key, place.node_key, a.resource, a.unit,
           a.time_ms // step.step_ms * step.step_ms AS time_ms, step.step_ms,
           avg(a.amount) AS amount
    FROM container_amount_keyed AS a
    JOIN place ON place.container_key = a.container_key
    CROSS JOIN step
    WHERE a.resource IN ('cpu', 'memory') AND place.node_key IS NOT NULL
    GROUP BY ALL
), gridded AS (
    SELECT *, lead(time_ms) OVER (
        PARTITION BY container_key, resource, unit ORDER BY time_ms
    ) AS next_ms
    FROM grid
), gap AS (
    SELECT container_key, resource, time_ms - lag(time_ms) OVER (
        PARTITION BY container_key, resource ORDER BY time_ms
    ) AS gap_ms
    FROM container_amount_keyed AS a
    SEMI JOIN (
        SELECT container_key, resource FROM gridded WHERE next_ms - time_ms > {SILENCE_LEAST_MS}
    ) AS apart
        ON apart.container_key = a.container_key AND apart.resource = a.resource
), silence AS (
    SELECT container_key, resource,
           CAST(greatest({SILENCE_LEAST_MS}, {SILENCE_DISTANCES} * CASE
               WHEN count(gap_ms) >= {SILENCE_ENOUGH_DISTANCES} THEN median(gap_ms)
               ELSE any_value(step.step_ms)
           END) AS BIGINT) AS silence_ms
    FROM gap CROSS JOIN step
    GROUP BY container_key, resource
), followed AS (
    SELECT gridded.*, time_ms + coalesce(silence_ms, {SILENCE_LEAST_MS}) + 1 AS silent_ms
    FROM gridded
    LEFT JOIN silence
        ON silence.container_key = gridded.container_key AND silence.resource = gridded.resource
), held AS (
    SELECT container_key, node_key, resource, unit, amount, time_ms FROM followed
    UNION ALL
    SELECT container_key, node_key, resource, unit, amount,
           unnest(range(time_ms + step_ms, least(next_ms, silent_ms), step_ms)) AS time_ms
    FROM followed
    WHERE next_ms > time_ms + step_ms
), total AS (
    SELECT held.time_ms, held.node_key, held.resource, sum(held.amount / capacity.amount) AS share
    FROM held
    JOIN capacity
        ON capacity.node_key = held.node_key AND capacity.resource = held.resource
        AND capacity.unit = held.unit
        AND held.time_ms >= capacity.from_ms AND held.time_ms < capacity.until_ms
    GROUP BY ALL
)
SELECT total.time_ms, node_id.node,
       max(CASE WHEN total.resource = 'cpu' THEN total.share END) AS cpu_fraction,
       max(CASE WHEN total.resource = 'memory' THEN total.share END) AS memory_fraction
FROM total
JOIN node_id ON node_id.node_key = total.node_key
GROUP BY total.time_ms, node_id.node
HAVING cpu_fraction IS NOT NULL AND memory_fraction IS NOT NULL
ORDER BY node_id.node, total.time_ms
"""
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
), used AS (
    SELECT container_key, bool_or(resource = 'cpu') AS cpu, bool_or(resource = 'memory') AS memory
    FROM container_amount_keyed
    WHERE resource IN ('cpu', 'memory')
    GROUP BY container_key
)
SELECT count(DISTINCT c.container_key),
       count(DISTINCT c.container_key) FILTER (NOT coalesce(used.cpu, false)),
       count(DISTINCT c.container_key) FILTER (NOT coalesce(used.memory, false))
FROM container_keyed AS c
CROSS JOIN span
LEFT JOIN used ON used.container_key = c.container_key
WHERE c.node_key IS NOT NULL AND c.time_ms <= span.last_ms
  AND coalesce(c.departure_ms > span.first_ms, true)
"""


def strangers(con: DuckDBPyConnection, entities: Sequence[str]) -> Iterator[Fact]:
    """Yield facts about recorded use of ids that no file lists, or that only rejected rows list.

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
    """Return the number of containers that lack recorded CPU or memory, and a sentence about them.

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


def cpu_or_memory_missing(con: DuckDBPyConnection, table: str) -> Defect | None:
    """Return a defect that counts samples of CPU without memory, or the reverse; None for none.

    No row of fractions uses such a sample. Nodes or containers without any sample of CPU, or of
    memory, are not counted. The temporary table ``held``, which joins each sample with the last one
    of the other resource, must exist.
    """
    [(times, cpu, memory, entities)] = con.sql(SILENT).fetchall()
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
