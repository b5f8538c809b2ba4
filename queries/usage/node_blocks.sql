-- title: Each node by blocks of time
-- description: Moments of each node's CPU and memory within blocks of time: what trends and the
--   uncertainty of autocorrelated series are computed from. A block without samples is absent;
--   stray times are left out.
-- reads: node_usage_keyed, node_id, quality_time_grid
-- param: block_ms BIGINT Length of a block [ms].
-- column: node VARCHAR The node.
-- column: block_start_ms BIGINT Start of the block [ms].
-- column: samples BIGINT Rows of the node in the block [samples].
-- column: cpu_mean DOUBLE Mean CPU in use / capacity [0..1].
-- column: memory_mean DOUBLE Mean memory in use / capacity [0..1].
-- column: cpu_var DOUBLE Population variance of CPU in the block [0..1].
-- column: memory_var DOUBLE Population variance of memory in the block [0..1].
-- column: cpu_memory_cov DOUBLE Population covariance of both in the block [-1..1].
-- order: node, block_start_ms
-- run: duckdb catalog.duckdb -f queries/usage/node_blocks.sql
WITH per_block AS (
    SELECT
        t.node_key,
        t.time_ms - t.time_ms % coalesce(getvariable('block_ms')::BIGINT, 1800000)
            AS block_start_ms,
        count(*) AS samples,
        avg(t.cpu_fraction) AS cpu_mean,
        avg(t.memory_fraction) AS memory_mean,
        var_pop(t.cpu_fraction) AS cpu_var,
        var_pop(t.memory_fraction) AS memory_var,
        covar_pop(t.cpu_fraction, t.memory_fraction) AS cpu_memory_cov
    FROM node_usage_keyed AS t
    INNER JOIN quality_time_grid AS grid
        ON
            grid."table" = 'node_usage'
            AND t.time_ms BETWEEN grid.time_min_ms AND grid.time_max_ms
    GROUP BY
        t.node_key,
        t.time_ms - t.time_ms % coalesce(getvariable('block_ms')::BIGINT, 1800000)
)

SELECT
    node_id.node,
    per_block.block_start_ms,
    per_block.samples,
    round(per_block.cpu_mean, 12) AS cpu_mean,
    round(per_block.memory_mean, 12) AS memory_mean,
    round(per_block.cpu_var, 15) AS cpu_var,
    round(per_block.memory_var, 15) AS memory_var,
    round(per_block.cpu_memory_cov, 15) AS cpu_memory_cov
FROM per_block
INNER JOIN node_id ON per_block.node_key = node_id.node_key
ORDER BY node_id.node, per_block.block_start_ms;
