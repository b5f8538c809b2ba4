-- title: Nodes by availability zone, and how much of them is requested and used
-- description: The zone is where the cluster says that a node stands, not the zone of its
--   correlation. Requested is the mean over the sampling times of what the containers with samples
--   request, each by its last request; used is the mean use of the nodes that recorded it, weighted
--   by their size. Nodes that are gone at the end, and those without a zone, are left out.
-- reads: node_keyed, node_resource_keyed, node_usage_keyed, container_usage_keyed,
--   container_resource_keyed
-- column: availability_zone VARCHAR The availability zone.
-- column: nodes BIGINT Nodes in it at the end [nodes].
-- column: nodes_without_use BIGINT Of these, without any recorded use: in no share used [nodes].
-- column: cpu_cores DOUBLE CPU of its nodes [cores].
-- column: cpu_requested_share DOUBLE CPU requested / CPU of its nodes [0..1].
-- column: cpu_used_share DOUBLE CPU in use / CPU of its nodes [0..1].
-- column: memory_bytes DOUBLE Memory of its nodes [bytes].
-- column: memory_requested_share DOUBLE Memory requested / memory of its nodes [0..1].
-- column: memory_used_share DOUBLE Memory in use / memory of its nodes [0..1].
-- order: availability_zone
-- run: duckdb catalog.duckdb -f queries/usage/availability_zones.sql
WITH zones AS (
    SELECT
        node_key,
        zone,
        row_number() OVER (PARTITION BY node_key ORDER BY time_ms DESC) AS back
    FROM node_keyed
    WHERE zone IS NOT NULL
),

states AS (
    SELECT
        node_key,
        state,
        row_number() OVER (PARTITION BY node_key ORDER BY time_ms DESC) AS back
    FROM node_keyed
    WHERE state IS NOT NULL
),

placed AS (
    SELECT
        zones.node_key,
        zones.zone
    FROM zones
    LEFT JOIN states ON zones.node_key = states.node_key AND states.back = 1
    WHERE zones.back = 1 AND coalesce(states.state, 'ready') <> 'gone'
),

sizes AS (
    SELECT
        node_key,
        resource,
        unit,
        amount,
        row_number() OVER (PARTITION BY node_key, resource ORDER BY time_ms DESC) AS back
    FROM node_resource_keyed
    WHERE cell IS NULL AND amount > 0
),

nodes AS (
    SELECT
        placed.node_key,
        placed.zone,
        max(
            CASE WHEN sizes.resource = 'cpu' AND sizes.unit = 'cores' THEN sizes.amount END
        ) AS cpu_cores,
        max(
            CASE WHEN sizes.resource = 'memory' AND sizes.unit = 'bytes' THEN sizes.amount END
        ) AS memory_bytes
    FROM placed
    LEFT JOIN sizes ON placed.node_key = sizes.node_key AND sizes.back = 1
    GROUP BY placed.node_key, placed.zone
),

used AS (
    SELECT
        node_key,
        avg(cpu_fraction) AS cpu,
        avg(memory_fraction) AS memory
    FROM node_usage_keyed
    GROUP BY node_key
),

stays AS (
    SELECT
        node_key,
        container_key,
        count(*) AS samples
    FROM container_usage_keyed
    WHERE node_key IS NOT NULL
    GROUP BY node_key, container_key
),

times AS (
    SELECT count(DISTINCT time_ms) AS samples
    FROM container_usage_keyed
),

asked AS (
    SELECT
        container_key,
        resource,
        unit,
        request,
        row_number() OVER (PARTITION BY container_key, resource ORDER BY time_ms DESC) AS back
    FROM container_resource_keyed
),

requested AS (
    SELECT
        stays.node_key,
        sum(
            CASE WHEN asked.resource = 'cpu' THEN asked.request * stays.samples END
        ) / max(times.samples) AS cpu_cores,
        sum(
            CASE WHEN asked.resource = 'memory' THEN asked.request * stays.samples END
        ) / max(times.samples) AS memory_bytes
    FROM stays
    INNER JOIN asked ON stays.container_key = asked.container_key AND asked.back = 1
    CROSS JOIN times
    WHERE
        (asked.resource = 'cpu' AND asked.unit = 'cores')
        OR (asked.resource = 'memory' AND asked.unit = 'bytes')
    GROUP BY stays.node_key
)

SELECT
    nodes.zone AS availability_zone,
    count(*) AS nodes,
    count(*) - count(used.node_key) AS nodes_without_use,
    sum(nodes.cpu_cores) AS cpu_cores,
    sum(requested.cpu_cores) / sum(nodes.cpu_cores) AS cpu_requested_share,
    sum(used.cpu * nodes.cpu_cores)
    / sum(CASE WHEN used.cpu IS NOT NULL THEN nodes.cpu_cores END) AS cpu_used_share,
    sum(nodes.memory_bytes) AS memory_bytes,
    sum(requested.memory_bytes) / sum(nodes.memory_bytes) AS memory_requested_share,
    sum(used.memory * nodes.memory_bytes)
    / sum(CASE WHEN used.memory IS NOT NULL THEN nodes.memory_bytes END) AS memory_used_share
FROM nodes
LEFT JOIN used ON nodes.node_key = used.node_key
LEFT JOIN requested ON nodes.node_key = requested.node_key
GROUP BY nodes.zone
ORDER BY availability_zone
