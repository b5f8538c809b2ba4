-- title: Nodes against containers
-- description: Mean, peak and standard deviation of CPU and memory, each taken per entity and then
--   averaged over the entities (table 4 of Yao et al., C.S.A. 2023 32(4)). A container that moved
--   counts once on each node it was on.
-- reads: usage_node_profile, usage_node_containers
-- column: level VARCHAR node or container.
-- column: resource VARCHAR cpu or memory.
-- column: entities BIGINT Nodes, or containers on them [entities].
-- column: mean DOUBLE Mean over entities of the entity's mean use [0..1].
-- column: peak DOUBLE Mean over entities of the entity's highest use [0..1].
-- column: std DOUBLE Mean over entities of the entity's population standard deviation [0..1].
-- order: level, resource
-- run: duckdb catalog.duckdb -f queries/usage/node_vs_container.sql
WITH found AS (
    SELECT
        'node' AS level,
        'cpu' AS resource,
        1 AS entities,
        cpu_mean AS mean,
        cpu_max AS peak,
        cpu_std AS std
    FROM usage_node_profile
    UNION ALL
    SELECT
        'node' AS level,
        'memory' AS resource,
        1 AS entities,
        memory_mean AS mean,
        memory_max AS peak,
        memory_std AS std
    FROM usage_node_profile
    UNION ALL
    SELECT
        'container' AS level,
        'cpu' AS resource,
        stays AS entities,
        container_cpu_mean AS mean,
        container_cpu_max AS peak,
        container_cpu_std AS std
    FROM usage_node_containers
    UNION ALL
    SELECT
        'container' AS level,
        'memory' AS resource,
        stays AS entities,
        container_memory_mean AS mean,
        container_memory_max AS peak,
        container_memory_std AS std
    FROM usage_node_containers
)

SELECT
    level,
    resource,
    cast(sum(entities) AS BIGINT) AS entities,
    round(sum(entities * mean) / sum(entities), 12) AS mean,
    round(sum(entities * peak) / sum(entities), 12) AS peak,
    round(sum(entities * std) / sum(entities), 12) AS std
FROM found
GROUP BY level, resource
ORDER BY level, resource;
