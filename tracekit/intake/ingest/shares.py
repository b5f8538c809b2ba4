"""The SQL statements that compute fractions of use from amounts and sizes, for ``derive``."""

from tracekit.base.constants import (
    SILENCE_DISTANCES,
    SILENCE_ENOUGH_DISTANCES,
    SILENCE_LEAST_MS,
)
from tracekit.base.units import EPOCH_FROM_MS

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
