-- title: The CPU of each container beside that of the others on its node
-- description: A container's mean CPU in a window of time, and what its neighbours on the same node
--   press: the mean and the sum of their services' profiles, a profile being the mean over the
--   service's containers of their means in that window. Who shares its cores or its socket the
--   trace does not say, so this is a stand-in for interference and no measurement of it. Samples
--   without a node are left out. Sums are of decimals, so that no order of rows changes them.
-- reads: container_usage_keyed, container_id, node_id, service_id
-- param: window_ms BIGINT Length of a window; longer than the trace: one window [ms].
-- column: container VARCHAR The container.
-- column: node VARCHAR The node it was on.
-- column: service VARCHAR Its service.
-- column: window_start_ms BIGINT Start of the window [ms].
-- column: samples BIGINT Samples of the container in the window [samples].
-- column: cpu_mean DOUBLE Mean CPU of the container [0..1].
-- column: neighbours BIGINT Other containers on the node in the window [containers].
-- column: neighbour_cpu_mean DOUBLE Mean profile of the neighbours, 0 without any [0..1].
-- column: neighbour_cpu_sum DOUBLE Sum of the neighbours' profiles [containers' CPU].
-- order: container, window_start_ms, node
-- run: duckdb catalog.duckdb -f queries/interference/node_neighbours.sql
WITH timed AS (
    SELECT
        container_key,
        node_key,
        service_key,
        cast(cpu_fraction AS DECIMAL(38, 12)) AS cpu,
        time_ms
        - time_ms % coalesce(getvariable('window_ms')::BIGINT, 1000000000000) AS window_start_ms
    FROM container_usage_keyed
    WHERE node_key IS NOT NULL
),

stays AS (
    SELECT
        container_key,
        node_key,
        window_start_ms,
        min(service_key) AS service_key,
        count(*) AS samples,
        cast(avg(cpu) AS DECIMAL(38, 12)) AS cpu
    FROM timed
    GROUP BY container_key, node_key, window_start_ms
),

profiles AS (
    SELECT
        service_key,
        window_start_ms,
        cast(avg(cpu) AS DECIMAL(38, 12)) AS cpu
    FROM stays
    GROUP BY service_key, window_start_ms
),

nodes AS (
    SELECT
        stays.node_key,
        stays.window_start_ms,
        count(*) AS containers,
        sum(profiles.cpu) AS cpu
    FROM stays
    INNER JOIN profiles
        ON
            stays.service_key = profiles.service_key
            AND stays.window_start_ms = profiles.window_start_ms
    GROUP BY stays.node_key, stays.window_start_ms
)

SELECT
    container_id.container,
    node_id.node,
    service_id.service,
    stays.window_start_ms,
    stays.samples,
    cast(stays.cpu AS DOUBLE) AS cpu_mean,
    nodes.containers - 1 AS neighbours,
    CASE
        WHEN nodes.containers > 1
            THEN
                round(cast(nodes.cpu - profiles.cpu AS DOUBLE) / (nodes.containers - 1), 12)
        ELSE 0.0
    END AS neighbour_cpu_mean,
    CASE
        WHEN nodes.containers > 1
            THEN cast(nodes.cpu - profiles.cpu AS DOUBLE)
        ELSE 0.0
    END AS neighbour_cpu_sum
FROM stays
INNER JOIN profiles
    ON
        stays.service_key = profiles.service_key
        AND stays.window_start_ms = profiles.window_start_ms
INNER JOIN nodes
    ON
        stays.node_key = nodes.node_key
        AND stays.window_start_ms = nodes.window_start_ms
INNER JOIN container_id ON stays.container_key = container_id.container_key
INNER JOIN node_id ON stays.node_key = node_id.node_key
INNER JOIN service_id ON stays.service_key = service_id.service_key
ORDER BY container_id.container, stays.window_start_ms, node_id.node;
