-- title: Profile of each node
-- description: How each node used its CPU and memory over the trace: moments, correlation and its
--   correlation zone, utilization difference and debris rate. Definitions: Yao et al., C.S.A. 2023
--   32(4), equations 1 to 3. A node with fewer than min_samples samples is in the correlation zone
--   'too_short' and has no correlation; one whose CPU or memory never changes is in 'U'.
-- reads: node_usage_keyed, node_id
-- param: min_samples BIGINT A node with fewer samples gets no correlation zone [samples].
-- param: zone_limit DOUBLE Correlation from which a node is in correlation zone C, and below whose
--   negative it is in A; of either sign its strength is low from there on [-1..1].
-- param: cpu_weight DOUBLE Weight of CPU in the debris rate [0..1].
-- param: memory_weight DOUBLE Weight of memory in the debris rate [0..1].
-- column: node VARCHAR The node.
-- column: samples BIGINT Rows of the node [samples].
-- column: cpu_mean DOUBLE Mean CPU in use / capacity [0..1].
-- column: cpu_median DOUBLE Median CPU in use / capacity [0..1].
-- column: cpu_std DOUBLE Population standard deviation of CPU in use / capacity [0..1].
-- column: cpu_max DOUBLE Highest CPU in use / capacity [0..1].
-- column: memory_mean DOUBLE Mean memory in use / capacity [0..1].
-- column: memory_median DOUBLE Median memory in use / capacity [0..1].
-- column: memory_std DOUBLE Population standard deviation of memory in use / capacity [0..1].
-- column: memory_max DOUBLE Highest memory in use / capacity [0..1].
-- column: pearson_r DOUBLE Correlation of CPU and memory, NULL in U and too_short [-1..1].
-- column: zone VARCHAR The correlation zone: A (below -zone_limit), B, C (from zone_limit), U
--   (constant) or too_short.
-- column: strength VARCHAR strong, moderate, low, weak_or_none or undefined, by |r|.
-- column: util_diff DOUBLE Utilization difference G: mean of |CPU - memory| [0..1].
-- column: debris DOUBLE Debris rate D: mean unused share of CPU and memory [0..1].
-- order: node
-- run: duckdb catalog.duckdb -cmd "SET VARIABLE min_samples = 20" -f queries/usage/node_profile.sql
WITH moments AS (
    SELECT
        node_key,
        count(*) AS samples,
        avg(cpu_fraction) AS cpu_mean,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu_fraction) AS cpu_median,
        var_pop(cpu_fraction) AS cpu_var,
        max(cpu_fraction) AS cpu_max,
        avg(memory_fraction) AS memory_mean,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY memory_fraction) AS memory_median,
        var_pop(memory_fraction) AS memory_var,
        max(memory_fraction) AS memory_max,
        covar_pop(cpu_fraction, memory_fraction) AS cpu_memory_cov,
        avg(abs(cpu_fraction - memory_fraction)) AS util_diff,
        avg(
            (
                1 - coalesce(getvariable('cpu_weight')::DOUBLE, 1.0) * least(cpu_fraction, 1)
                + 1 - coalesce(getvariable('memory_weight')::DOUBLE, 1.0)
                * least(memory_fraction, 1)
            ) / 2
        ) AS debris
    FROM node_usage_keyed
    GROUP BY node_key
),

-- deviations and correlation come from the variances: taken row by row they cost them once more
per_node AS (
    SELECT
        *,
        sqrt(cpu_var) AS cpu_std,
        sqrt(memory_var) AS memory_std,
        CASE
            WHEN
                samples >= coalesce(getvariable('min_samples')::BIGINT, 10)
                -- a series whose variance is rounding noise is constant
                AND cpu_var > 1e-18
                AND memory_var > 1e-18
                THEN greatest(-1, least(1, cpu_memory_cov / (sqrt(cpu_var) * sqrt(memory_var))))
        END AS pearson_r
    FROM moments
)

SELECT
    node_id.node,
    per_node.samples,
    round(per_node.cpu_mean, 12) AS cpu_mean,
    per_node.cpu_median,
    round(per_node.cpu_std, 12) AS cpu_std,
    per_node.cpu_max,
    round(per_node.memory_mean, 12) AS memory_mean,
    per_node.memory_median,
    round(per_node.memory_std, 12) AS memory_std,
    per_node.memory_max,
    round(per_node.pearson_r, 12) AS pearson_r,
    CASE
        WHEN per_node.samples < coalesce(getvariable('min_samples')::BIGINT, 10) THEN 'too_short'
        WHEN per_node.pearson_r IS NULL THEN 'U'
        WHEN per_node.pearson_r < -coalesce(getvariable('zone_limit')::DOUBLE, 0.3) THEN 'A'
        WHEN per_node.pearson_r < coalesce(getvariable('zone_limit')::DOUBLE, 0.3) THEN 'B'
        ELSE 'C'
    END AS zone,
    CASE
        WHEN per_node.pearson_r IS NULL THEN 'undefined'
        WHEN abs(per_node.pearson_r) > 0.8 THEN 'strong'
        WHEN abs(per_node.pearson_r) > 0.5 THEN 'moderate'
        WHEN abs(per_node.pearson_r) >= coalesce(getvariable('zone_limit')::DOUBLE, 0.3) THEN 'low'
        ELSE 'weak_or_none'
    END AS strength,
    round(per_node.util_diff, 12) AS util_diff,
    round(per_node.debris, 12) AS debris
FROM per_node
INNER JOIN node_id ON per_node.node_key = node_id.node_key
ORDER BY node_id.node;
