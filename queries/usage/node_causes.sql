-- title: Causes of utilization change on each node
-- description: Each step from one sample of a node to the next is labelled. 'deploy+' when a
--   container came (as many as left, or more), 'deploy-' when containers left; else 'request' when
--   CPU moved by at least cpu_step; else 'quiet'. A container is there from its first to its last
--   sample on the node: a sample that is missing in between is no deployment, nor are the ends
--   of the trace. Steps longer than the table's are left out.
-- reads: node_usage_steps, usage_container_profile, node_id, quality_time_grid
-- param: cpu_step DOUBLE Change of CPU that requests are held to explain [0..1].
-- column: node VARCHAR The node.
-- column: cause VARCHAR deploy+, deploy-, request or quiet.
-- column: events BIGINT Steps with this label [steps].
-- column: cpu_change_mean DOUBLE Mean change of CPU in use / capacity [-1..1].
-- column: memory_change_mean DOUBLE Mean change of memory in use / capacity [-1..1].
-- column: cpu_move_mean DOUBLE Mean size of the change of CPU [0..1].
-- column: memory_move_mean DOUBLE Mean size of the change of memory [0..1].
-- order: node, cause
-- run: duckdb catalog.duckdb -f queries/usage/node_causes.sql
WITH ends AS (
    SELECT
        node_id.node_key,
        stays.first_ms,
        stays.last_ms,
        stays.first_ms > box.time_min_ms AS came,
        stays.last_ms < box.time_max_ms AS went,
        grid.time_min_ms AS start_ms,
        grid.step_ms
    FROM usage_container_profile AS stays
    INNER JOIN node_id ON stays.node = node_id.node
    INNER JOIN quality_time_grid AS box ON box."table" = 'container_usage'
    INNER JOIN quality_time_grid AS grid ON grid."table" = 'node_usage'
    WHERE stays.first_ms > box.time_min_ms OR stays.last_ms < box.time_max_ms
),

-- the first sample of the node that the change can show in
moves AS (
    SELECT
        node_key,
        cast(start_ms + ceil((first_ms - start_ms) / step_ms) * step_ms AS BIGINT) AS time_ms,
        1 AS came,
        0 AS went
    FROM ends
    WHERE came
    UNION ALL
    SELECT
        node_key,
        cast(start_ms + (floor((last_ms - start_ms) / step_ms) + 1) * step_ms AS BIGINT) AS time_ms,
        0 AS came,
        1 AS went
    FROM ends
    WHERE went
),

deployments AS (
    SELECT
        node_key,
        time_ms,
        -- the causes are numbered until the steps are counted: grouping by text costs more
        CASE WHEN sum(came) >= sum(went) THEN 1 ELSE 2 END AS cause
    FROM moves
    GROUP BY node_key, time_ms
),

labelled AS (
    SELECT
        changes.node_key,
        coalesce(
            deployments.cause,
            CASE
                -- the small term lets a change that is printed as the limit reach it
                WHEN
                    abs(changes.cpu_change) + 1e-12
                    >= coalesce(getvariable('cpu_step')::DOUBLE, 0.05)
                    THEN 3
                ELSE 4
            END
        ) AS cause,
        changes.cpu_change,
        changes.memory_change
    FROM node_usage_steps AS changes
    INNER JOIN quality_time_grid AS grid
        ON grid."table" = 'node_usage' AND changes.step_ms = grid.step_ms
    LEFT JOIN deployments
        ON changes.node_key = deployments.node_key AND changes.time_ms = deployments.time_ms
),

per_cause AS (
    SELECT
        node_key,
        CASE cause
            WHEN 1 THEN 'deploy+'
            WHEN 2 THEN 'deploy-'
            WHEN 3 THEN 'request'
            ELSE 'quiet'
        END AS cause,
        count(*) AS events,
        avg(cpu_change) AS cpu_change_mean,
        avg(memory_change) AS memory_change_mean,
        avg(abs(cpu_change)) AS cpu_move_mean,
        avg(abs(memory_change)) AS memory_move_mean
    FROM labelled
    GROUP BY node_key, cause
)

SELECT
    node_id.node,
    per_cause.cause,
    per_cause.events,
    round(per_cause.cpu_change_mean, 12) AS cpu_change_mean,
    round(per_cause.memory_change_mean, 12) AS memory_change_mean,
    round(per_cause.cpu_move_mean, 12) AS cpu_move_mean,
    round(per_cause.memory_move_mean, 12) AS memory_move_mean
FROM per_cause
INNER JOIN node_id ON per_cause.node_key = node_id.node_key
ORDER BY node_id.node, per_cause.cause;
