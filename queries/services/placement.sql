-- title: The containers of one service and the nodes they are on
-- description: The graph service, containers, nodes of figure 6 of Yao et al., C.S.A. 2023 32(4):
--   one row per edge from a container to a node. Without a service, the one with the most
--   containers, of two the first by id.
-- reads: usage_container_profile, usage_node_profile
-- param: service VARCHAR The service's id.
-- column: service VARCHAR The service.
-- column: container VARCHAR A container of it.
-- column: node VARCHAR A node the container was on.
-- column: samples BIGINT Rows of the stay [samples].
-- column: cpu_mean DOUBLE The container's mean CPU in use / CPU it may use [0..1].
-- column: memory_mean DOUBLE The container's mean memory in use / memory it may use [0..1].
-- column: node_zone VARCHAR The node's correlation zone, NULL for a node without samples.
-- column: node_cpu_mean DOUBLE The node's mean CPU [0..1].
-- column: node_memory_mean DOUBLE The node's mean memory [0..1].
-- order: container, node
-- run: duckdb catalog.duckdb -f queries/services/placement.sql
WITH sizes AS (
    SELECT
        service,
        row_number() OVER (ORDER BY count(DISTINCT container) DESC, service) AS place
    FROM usage_container_profile
    GROUP BY service
)

SELECT
    stays.service,
    stays.container,
    stays.node,
    stays.samples,
    stays.cpu_mean,
    stays.memory_mean,
    profile.zone AS node_zone,
    profile.cpu_mean AS node_cpu_mean,
    profile.memory_mean AS node_memory_mean
FROM usage_container_profile AS stays
INNER JOIN sizes ON stays.service = sizes.service
LEFT JOIN usage_node_profile AS profile ON stays.node = profile.node
WHERE
    stays.service = coalesce(getvariable('service')::STRING, '')
    OR (coalesce(getvariable('service')::STRING, '') = '' AND sizes.place = 1)
ORDER BY stays.container, stays.node;
