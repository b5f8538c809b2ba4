-- title: The data-quality ledger
-- description: Every kind of defect in every table, how many rows it touches and what was done
--   about it. What ingest met comes first (broken rows, duplicates, unknown names, values out of
--   range); then what only the whole table shows: stray times and missing samples. A defect that
--   does not occur is absent.
-- reads: source_defect, source_file, quality_time_grid, node_usage_keyed, container_usage_keyed,
--   container_keyed
-- column: table VARCHAR The base table.
-- column: defect VARCHAR The kind of defect.
-- column: column VARCHAR The column it is in, empty when it concerns the whole row.
-- column: rows BIGINT Rows concerned; for missing_samples, samples that are not there; for
--   containers_without_use, containers; for one_of_two_silent, times of samples [rows].
-- column: share DOUBLE Rows concerned / rows read; for broken rows / lines read, of which one may
--   give several rows; for missing_samples / samples due, for
--   containers_without_use / containers on nodes [0..1].
-- column: action VARCHAR What was done about it.
-- column: example VARCHAR One case of it.
-- order: table, defect, column, example
-- run: duckdb catalog.duckdb -f queries/quality/ledger.sql
WITH met AS (
    SELECT
        "table",
        defect,
        "column",
        action,
        cast(sum("rows") AS BIGINT) AS "rows",
        min_by(concat(source_file, ': ', example), concat(source_file, example)) AS example
    FROM source_defect
    GROUP BY
        "table",
        defect,
        "column",
        action,
        -- each spelling of an unknown name is a line of its own
        CASE WHEN defect = 'missing_name' THEN example ELSE '' END
),

stray AS (
    SELECT
        "table",
        'stray_time' AS defect,
        'time_ms' AS "column",
        'kept' AS action,
        stray_rows AS "rows",
        concat('at ', cast(stray_example_ms AS STRING), ' ms') AS example
    FROM quality_time_grid
    WHERE stray_rows > 0
),

spans AS (
    SELECT
        'node_usage' AS "table",
        t.node_key AS entity,
        count(*) AS samples,
        max(t.time_ms) - min(t.time_ms) AS span_ms
    FROM node_usage_keyed AS t
    INNER JOIN quality_time_grid AS g
        ON g."table" = 'node_usage' AND t.time_ms BETWEEN g.time_min_ms AND g.time_max_ms
    GROUP BY t.node_key
    UNION ALL
    SELECT
        'container_usage' AS "table",
        t.container_key AS entity,
        count(*) AS samples,
        max(t.time_ms) - min(t.time_ms) AS span_ms
    FROM container_usage_keyed AS t
    INNER JOIN quality_time_grid AS g
        ON g."table" = 'container_usage' AND t.time_ms BETWEEN g.time_min_ms AND g.time_max_ms
    GROUP BY t.container_key
),

gaps AS (
    SELECT
        spans."table",
        'missing_samples' AS defect,
        'time_ms' AS "column",
        'left as gaps' AS action,
        cast(sum(cast(floor(spans.span_ms / grid.step_ms) AS BIGINT) + 1 - spans.samples) AS BIGINT)
            AS "rows",
        concat('between first and last sample, step ', cast(max(grid.step_ms) AS STRING), ' ms')
            AS example
    FROM spans
    INNER JOIN quality_time_grid AS grid ON spans."table" = grid."table"
    GROUP BY spans."table"
    HAVING sum(cast(floor(spans.span_ms / grid.step_ms) AS BIGINT) + 1 - spans.samples) > 0
),

everything AS (
    SELECT
        "table",
        defect,
        "column",
        "rows",
        action,
        example
    FROM met
    UNION ALL
    SELECT
        "table",
        defect,
        "column",
        "rows",
        action,
        example
    FROM stray
    UNION ALL
    SELECT
        "table",
        defect,
        "column",
        "rows",
        action,
        example
    FROM gaps
),

read_rows AS (
    SELECT
        "table",
        sum(rows_read) AS rows_read,
        sum(coalesce(lines_read, rows_read)) AS lines_read
    FROM source_file
    GROUP BY "table"
),

placed AS (
    SELECT count(DISTINCT container_key) AS containers
    FROM container_keyed
    WHERE node_key IS NOT NULL
)

SELECT
    everything."table",
    everything.defect,
    everything."column",
    everything."rows",
    round(
        everything."rows" / CASE everything.defect
            WHEN 'missing_samples' THEN read_rows.rows_read + everything."rows"
            WHEN 'containers_without_use' THEN placed.containers
            ELSE
                CASE everything.action
                    WHEN 'rejected' THEN read_rows.lines_read
                    ELSE read_rows.rows_read
                END
        END, 12
    )::DOUBLE AS "share",
    everything.action,
    everything.example
FROM everything
INNER JOIN read_rows ON everything."table" = read_rows."table"
CROSS JOIN placed
ORDER BY everything."table", everything.defect, everything."column", everything.example;
