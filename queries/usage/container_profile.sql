-- title: Profile of each container
-- description: How each container used the CPU and memory it may use, over its stay on a node. A
--   container that moved has one row for each node it was on.
-- reads: container_usage_keyed, container_id, node_id, service_id
-- column: container VARCHAR The container.
-- column: node VARCHAR The node it was on.
-- column: service VARCHAR The service it belongs to.
-- column: samples BIGINT Rows of the stay [samples].
-- column: first_ms BIGINT First sample of the stay [ms].
-- column: last_ms BIGINT Last sample of the stay [ms].
-- column: cpu_mean DOUBLE Mean CPU in use / CPU it may use; may exceed 1 [0..1].
-- column: cpu_std DOUBLE Population standard deviation of the same [0..1].
-- column: cpu_max DOUBLE Highest CPU in use / CPU it may use [0..1].
-- column: memory_mean DOUBLE Mean memory in use / memory it may use [0..1].
-- column: memory_std DOUBLE Population standard deviation of the same [0..1].
-- column: memory_max DOUBLE Highest memory in use / memory it may use [0..1].
-- order: container, node
-- run: duckdb catalog.duckdb -f queries/usage/container_profile.sql
WITH per_stay AS (
    SELECT
        container_key,
        node_key,
        min(service_key) AS service_key,
        count(*) AS samples,
        min(time_ms) AS first_ms,
        max(time_ms) AS last_ms,
        avg(cpu_fraction) AS cpu_mean,
        stddev_pop(cpu_fraction) AS cpu_std,
        max(cpu_fraction) AS cpu_max,
        avg(memory_fraction) AS memory_mean,
        stddev_pop(memory_fraction) AS memory_std,
        max(memory_fraction) AS memory_max
    FROM container_usage_keyed
    GROUP BY container_key, node_key
)

SELECT
    container_id.container,
    node_id.node,
    service_id.service,
    per_stay.samples,
    per_stay.first_ms,
    per_stay.last_ms,
    round(per_stay.cpu_mean, 12) AS cpu_mean,
    round(per_stay.cpu_std, 12) AS cpu_std,
    per_stay.cpu_max,
    round(per_stay.memory_mean, 12) AS memory_mean,
    round(per_stay.memory_std, 12) AS memory_std,
    per_stay.memory_max
FROM per_stay
INNER JOIN container_id ON per_stay.container_key = container_id.container_key
INNER JOIN node_id ON per_stay.node_key = node_id.node_key
INNER JOIN service_id ON per_stay.service_key = service_id.service_key
ORDER BY container_id.container, node_id.node;
