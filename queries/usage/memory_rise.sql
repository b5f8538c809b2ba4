-- title: Nodes whose memory rises steadily
-- description: Nodes with a day or more of samples whose memory lies on a rising line (least
--   squares over blocks of time): so a leak looks, or what is kept and never given back. What rises
--   and falls with the time of day lies on no line, nor does what goes up at once.
-- reads: usage_node_blocks
-- param: min_r_squared DOUBLE A node of which the line explains less is left out [0..1].
-- param: min_rise_fraction DOUBLE A node whose memory rose by less is left out [0..1].
-- column: node VARCHAR The node.
-- column: days DOUBLE From its first to its last block [days].
-- column: memory_first_fraction DOUBLE Memory in use / capacity at first, by the line [0..1].
-- column: memory_last_fraction DOUBLE The same at last [0..1].
-- column: memory_per_day_fraction DOUBLE By how much that rises a day [0..1].
-- column: r_squared DOUBLE Share of the variance of memory that the line explains [0..1].
-- column: days_left DOUBLE After so many days the line is at the capacity [days].
-- order: days_left, node
-- run: duckdb catalog.duckdb -f queries/usage/memory_rise.sql
WITH blocks AS (
    SELECT
        node,
        block_start_ms / 86400000.0 AS day,
        memory_mean
    FROM usage_node_blocks
),

fitted AS (
    SELECT
        node,
        min(day) AS first_day,
        max(day) AS last_day,
        regr_slope(memory_mean, day) AS slope,
        regr_intercept(memory_mean, day) AS intercept,
        regr_r2(memory_mean, day) AS r_squared
    FROM blocks
    GROUP BY node
    -- the blocks of a day start within less than one
    HAVING max(day) - min(day) >= 0.95
),

lines AS (
    SELECT
        node,
        (last_day - first_day)::DOUBLE AS days,
        intercept + slope * first_day AS first_fraction,
        intercept + slope * last_day AS last_fraction,
        slope,
        r_squared
    FROM fitted
)

SELECT
    node,
    round(days, 6) AS days,
    round(first_fraction, 9) AS memory_first_fraction,
    round(last_fraction, 9) AS memory_last_fraction,
    round(slope, 9) AS memory_per_day_fraction,
    round(r_squared, 9) AS r_squared,
    round(greatest(1 - last_fraction, 0) / slope, 6) AS days_left
FROM lines
WHERE
    r_squared >= coalesce(getvariable('min_r_squared')::DOUBLE, 0.9)
    AND last_fraction - first_fraction
    >= coalesce(getvariable('min_rise_fraction')::DOUBLE, 0.05)
ORDER BY days_left, node;
