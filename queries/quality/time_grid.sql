-- title: The time grid of each table
-- description: The step between samples, inferred as the commonest difference between successive
--   times of the table (the smaller one on a tie), and its stray times, which are farther than
--   stray_steps steps from both neighbours. A table without rows is absent. Inferred over the
--   table and not per node or container, because an entity of a cut file may have one sample only.
-- reads: node_usage_keyed, container_usage_keyed, service_rate_keyed
-- param: stray_steps BIGINT A time this many steps away from its neighbours is stray [steps].
-- column: table VARCHAR The base table.
-- column: step_ms BIGINT Step between samples, NULL when the table has one time only [ms].
-- column: time_min_ms BIGINT First time that is not stray [ms].
-- column: time_max_ms BIGINT Last time that is not stray [ms].
-- column: times BIGINT Distinct times [times].
-- column: stray_times BIGINT Distinct stray times [times].
-- column: stray_rows BIGINT Rows at those times [rows].
-- column: stray_example_ms BIGINT The first of them [ms].
-- order: table
-- run: duckdb catalog.duckdb -f queries/quality/time_grid.sql
WITH counted AS (
    SELECT
        'node_usage' AS "table",
        time_ms,
        count(*) AS samples
    FROM node_usage_keyed
    GROUP BY time_ms
    UNION ALL
    SELECT
        'container_usage' AS "table",
        time_ms,
        count(*) AS samples
    FROM container_usage_keyed
    GROUP BY time_ms
    UNION ALL
    SELECT
        'service_rate' AS "table",
        time_ms,
        count(*) AS samples
    FROM service_rate_keyed
    GROUP BY time_ms
),

spaced AS (
    SELECT
        "table",
        time_ms,
        samples,
        time_ms - lag(time_ms) OVER by_time AS before_ms,
        (lead(time_ms) OVER by_time) - time_ms AS after_ms
    FROM counted
    WINDOW by_time AS (PARTITION BY "table" ORDER BY time_ms)
),

differences AS (
    SELECT
        "table",
        before_ms,
        row_number() OVER (PARTITION BY "table" ORDER BY count(*) DESC, before_ms) AS place
    FROM spaced
    WHERE before_ms IS NOT NULL
    GROUP BY "table", before_ms
),

steps AS (
    SELECT
        "table",
        before_ms AS step_ms
    FROM differences
    WHERE place = 1
),

marked AS (
    SELECT
        spaced."table",
        spaced.time_ms,
        spaced.samples,
        steps.step_ms,
        steps.step_ms IS NOT NULL
        AND coalesce(
            spaced.before_ms > steps.step_ms * coalesce(getvariable('stray_steps')::BIGINT, 10),
            TRUE
        )
        AND coalesce(
            spaced.after_ms > steps.step_ms * coalesce(getvariable('stray_steps')::BIGINT, 10),
            TRUE
        ) AS stray
    FROM spaced
    LEFT JOIN steps ON spaced."table" = steps."table"
)

SELECT
    "table",
    max(step_ms) AS step_ms,
    min(time_ms) FILTER (WHERE NOT stray) AS time_min_ms,
    max(time_ms) FILTER (WHERE NOT stray) AS time_max_ms,
    count(*) AS times,
    count(*) FILTER (WHERE stray) AS stray_times,
    coalesce(cast(sum(samples) FILTER (WHERE stray) AS BIGINT), 0) AS stray_rows,
    min(time_ms) FILTER (WHERE stray) AS stray_example_ms
FROM marked
GROUP BY "table"
ORDER BY "table";
