-- title: The containers of each node
-- description: How many containers each node runs, and what they are like. The number is the median
--   over the node's periods of the containers with a sample in the period, rounded half up. A
--   node without containers is absent.
-- reads: usage_container_profile, container_usage_keyed, node_id, quality_time_grid
-- column: node VARCHAR The node.
-- column: containers BIGINT Containers at a time, the median over time [containers].
-- column: stays BIGINT Containers that were ever on it [containers].
-- column: container_cpu_mean DOUBLE Mean over its containers of their mean CPU [0..1].
-- column: container_cpu_std DOUBLE Mean over its containers of their standard deviation [0..1].
-- column: container_cpu_max DOUBLE Mean over its containers of their highest CPU [0..1].
-- column: container_memory_mean DOUBLE Mean over its containers of their mean memory [0..1].
-- column: container_memory_std DOUBLE Mean over its containers of their standard deviation [0..1].
-- column: container_memory_max DOUBLE Mean over its containers of their highest memory [0..1].
-- order: node
-- run: duckdb catalog.duckdb -f queries/usage/node_containers.sql
WITH per_node AS (
    SELECT
        node,
        count(*) AS stays,
        avg(cpu_mean) AS container_cpu_mean,
        avg(cpu_std) AS container_cpu_std,
        avg(cpu_max) AS container_cpu_max,
        avg(memory_mean) AS container_memory_mean,
        avg(memory_std) AS container_memory_std,
        avg(memory_max) AS container_memory_max,
        max(last_ms) - min(first_ms) AS span_ms,
        -- with every sample of every container there, each period holds the same number
        min(first_ms) = max(first_ms)
        AND min(last_ms) = max(last_ms)
        AND min(samples) = max(samples) AS same_times,
        max(samples) AS samples
    FROM usage_container_profile
    GROUP BY node
),

marked AS (
    SELECT
        per_node.*,
        per_node.same_times
        AND coalesce((per_node.samples - 1) * grid.step_ms, 0) = per_node.span_ms AS steady
    FROM per_node
    LEFT JOIN quality_time_grid AS grid ON grid."table" = 'container_usage'
),

counted AS (
    SELECT
        t.node_key,
        count(*) AS containers
    FROM container_usage_keyed AS t
    WHERE
        t.node_key IN (
            SELECT node_id.node_key
            FROM marked
            INNER JOIN node_id ON marked.node = node_id.node
            WHERE NOT marked.steady
        )
    GROUP BY t.node_key, t.time_ms
),

medians AS (
    SELECT
        node_id.node,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY counted.containers::DOUBLE) AS containers
    FROM counted
    INNER JOIN node_id ON counted.node_key = node_id.node_key
    GROUP BY node_id.node
)

SELECT
    marked.node,
    cast(floor(coalesce(medians.containers, marked.stays) + 0.5) AS BIGINT) AS containers,
    marked.stays,
    round(marked.container_cpu_mean, 12) AS container_cpu_mean,
    round(marked.container_cpu_std, 12) AS container_cpu_std,
    round(marked.container_cpu_max, 12) AS container_cpu_max,
    round(marked.container_memory_mean, 12) AS container_memory_mean,
    round(marked.container_memory_std, 12) AS container_memory_std,
    round(marked.container_memory_max, 12) AS container_memory_max
FROM marked
LEFT JOIN medians ON marked.node = medians.node
ORDER BY marked.node;
