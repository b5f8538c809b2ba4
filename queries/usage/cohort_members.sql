-- title: Nodes that are busy, idle or skewed to memory
-- description: Which nodes are in the groups that Yao et al. (C.S.A. 2023 32(4)) look at. HIGH:
--   mean CPU of high_limit or more; LOW: below low_limit; MEMSKEW: the memskew_nodes nodes whose
--   memory is farthest above their CPU, the same share (and at least one) when the trace has fewer
--   nodes than the study's 13,000. A node may be in two groups.
-- reads: usage_node_profile
-- param: high_limit DOUBLE Mean CPU from which a node is HIGH [0..1].
-- param: low_limit DOUBLE Mean CPU below which a node is LOW [0..1].
-- param: memskew_nodes BIGINT Nodes in MEMSKEW when the trace has 13,000 or more [nodes].
-- column: cohort VARCHAR HIGH, LOW or MEMSKEW.
-- column: node VARCHAR A node of it.
-- column: cpu_mean DOUBLE Its mean CPU [0..1].
-- column: memory_mean DOUBLE Its mean memory [0..1].
-- order: cohort, node
-- run: duckdb catalog.duckdb -f queries/usage/cohort_members.sql
WITH ranked AS (
    SELECT
        *,
        row_number() OVER (ORDER BY memory_mean - cpu_mean DESC, node) AS skew_place,
        count(*) OVER () AS all_nodes
    FROM usage_node_profile
)

SELECT
    'HIGH' AS cohort,
    node,
    cpu_mean,
    memory_mean
FROM ranked
WHERE cpu_mean >= coalesce(getvariable('high_limit')::DOUBLE, 0.7)
UNION ALL
SELECT
    'LOW' AS cohort,
    node,
    cpu_mean,
    memory_mean
FROM ranked
WHERE cpu_mean < coalesce(getvariable('low_limit')::DOUBLE, 0.3)
UNION ALL
SELECT
    'MEMSKEW' AS cohort,
    node,
    cpu_mean,
    memory_mean
FROM ranked
WHERE
    skew_place <= greatest(
        1,
        floor(
            least(all_nodes / 13000.0, 1) * coalesce(getvariable('memskew_nodes')::BIGINT, 1500)
            + 0.5
        )
    )
ORDER BY cohort, node;
