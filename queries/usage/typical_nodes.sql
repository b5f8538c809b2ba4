-- title: A typical node of each correlation zone
-- description: Of each correlation zone the node whose correlation is the median of the zone's; of
--   two that are as close, the one with the lower id. A zone without correlations gives its first
--   node.
-- reads: usage_node_profile
-- column: zone VARCHAR The correlation zone.
-- column: node VARCHAR The node.
-- column: pearson_r DOUBLE Its correlation of CPU and memory [-1..1].
-- column: cpu_mean DOUBLE Its mean CPU [0..1].
-- column: memory_mean DOUBLE Its mean memory [0..1].
-- column: util_diff DOUBLE Its utilization difference G [0..1].
-- column: debris DOUBLE Its debris rate D [0..1].
-- order: zone
-- run: duckdb catalog.duckdb -f queries/usage/typical_nodes.sql
WITH middle AS (
    SELECT
        zone,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY pearson_r) AS median_r
    FROM usage_node_profile
    GROUP BY zone
),

ranked AS (
    SELECT
        profile.*,
        row_number() OVER (
            PARTITION BY profile.zone
            ORDER BY coalesce(abs(profile.pearson_r - middle.median_r), 0), profile.node
        ) AS place
    FROM usage_node_profile AS profile
    INNER JOIN middle ON profile.zone = middle.zone
)

SELECT
    zone,
    node,
    pearson_r,
    cpu_mean,
    memory_mean,
    util_diff,
    debris
FROM ranked
WHERE place = 1
ORDER BY zone;
