-- title: The correlation zones and their nodes
-- description: How many nodes each correlation zone has, and the mean over its nodes of each
--   node's mean, median and standard deviation (table 2 of Yao et al., C.S.A. 2023 32(4)). A zone
--   without nodes is absent.
-- reads: usage_node_profile
-- column: zone VARCHAR The correlation zone: A (CPU and memory move apart), B, C (they move
--   together), U, too_short.
-- column: nodes BIGINT Nodes in the correlation zone [nodes].
-- column: node_share DOUBLE Share of all nodes [0..1].
-- column: cpu_mean DOUBLE Mean over nodes of the node's mean CPU [0..1].
-- column: cpu_median DOUBLE Mean over nodes of the node's median CPU [0..1].
-- column: cpu_std DOUBLE Mean over nodes of the node's standard deviation of CPU [0..1].
-- column: cpu_max DOUBLE Mean over nodes of the node's highest CPU [0..1].
-- column: memory_mean DOUBLE Mean over nodes of the node's mean memory [0..1].
-- column: memory_median DOUBLE Mean over nodes of the node's median memory [0..1].
-- column: memory_std DOUBLE Mean over nodes of the node's standard deviation of memory [0..1].
-- column: memory_max DOUBLE Mean over nodes of the node's highest memory [0..1].
-- column: util_diff DOUBLE Mean over nodes of the utilization difference G [0..1].
-- column: debris DOUBLE Mean over nodes of the debris rate D [0..1].
-- order: zone
-- run: duckdb catalog.duckdb -f queries/usage/zone_summary.sql
SELECT
    zone,
    count(*) AS nodes,
    round(count(*) / sum(count(*)) OVER (), 12)::DOUBLE AS node_share,
    round(avg(cpu_mean), 12) AS cpu_mean,
    round(avg(cpu_median), 12) AS cpu_median,
    round(avg(cpu_std), 12) AS cpu_std,
    round(avg(cpu_max), 12) AS cpu_max,
    round(avg(memory_mean), 12) AS memory_mean,
    round(avg(memory_median), 12) AS memory_median,
    round(avg(memory_std), 12) AS memory_std,
    round(avg(memory_max), 12) AS memory_max,
    round(avg(util_diff), 12) AS util_diff,
    round(avg(debris), 12) AS debris
FROM usage_node_profile
GROUP BY zone
ORDER BY zone;
