-- title: Utilization difference of the nodes, by correlation zone
-- description: How the utilization difference G is spread over the nodes of each correlation
--   zone (figure 5 of Yao et al., C.S.A. 2023 32(4)). A bin without nodes is absent.
-- reads: usage_node_profile
-- param: bin_width DOUBLE Width of a bin [0..1].
-- column: zone VARCHAR The correlation zone.
-- column: bin_start DOUBLE Lower edge of the bin of G [0..1].
-- column: nodes BIGINT Nodes of the correlation zone in the bin [nodes].
-- column: node_share DOUBLE Share of all nodes of the trace [0..1].
-- order: zone, bin_start
-- run: duckdb catalog.duckdb -f queries/usage/util_diff_by_zone.sql
WITH binned AS (
    SELECT
        zone,
        -- the small term keeps a value that is an edge, such as 0.3, in the bin it starts
        cast(
            floor(util_diff / coalesce(getvariable('bin_width')::DOUBLE, 0.02) + 1e-9) AS BIGINT
        ) AS bin
    FROM usage_node_profile
),

counted AS (
    SELECT
        zone,
        bin,
        count(*) AS nodes
    FROM binned
    GROUP BY zone, bin
)

SELECT
    zone,
    round(bin * coalesce(getvariable('bin_width')::DOUBLE, 0.02), 12) AS bin_start,
    nodes,
    round(nodes / sum(nodes) OVER (), 12)::DOUBLE AS node_share
FROM counted
ORDER BY zone, bin_start;
