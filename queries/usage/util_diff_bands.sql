-- title: Nodes of each correlation zone by bands of the utilization difference
-- description: Table 3 of Yao et al., C.S.A. 2023 32(4): nodes whose utilization difference G lies
--   in bands of 0.1, the last one open. A correlation zone without nodes is absent; a band without
--   nodes is 0.
-- reads: usage_node_profile
-- column: zone VARCHAR The correlation zone.
-- column: bin_start DOUBLE Lower edge of the band of G; 0.5 stands for 0.5 and more [0..1].
-- column: nodes BIGINT Nodes of the correlation zone in the band [nodes].
-- column: zone_share DOUBLE The same as a share of the nodes of the correlation zone [0..1].
-- order: zone, bin_start
-- run: duckdb catalog.duckdb -f queries/usage/util_diff_bands.sql
WITH bands AS (
    SELECT 0 AS band
    UNION ALL
    SELECT 1 AS band
    UNION ALL
    SELECT 2 AS band
    UNION ALL
    SELECT 3 AS band
    UNION ALL
    SELECT 4 AS band
    UNION ALL
    SELECT 5 AS band
),

banded AS (
    SELECT
        zone,
        -- the small term keeps a value that is an edge, such as 0.3, in the band it starts
        least(cast(floor(util_diff / 0.1 + 1e-9) AS BIGINT), 5) AS band
    FROM usage_node_profile
),

zones AS (
    SELECT
        zone,
        count(*) AS nodes
    FROM banded
    GROUP BY zone
),

counted AS (
    SELECT
        zone,
        band,
        count(*) AS nodes
    FROM banded
    GROUP BY zone, band
)

SELECT
    zones.zone,
    round(bands.band / 10.0, 12)::DOUBLE AS bin_start,
    coalesce(counted.nodes, 0) AS nodes,
    round(coalesce(counted.nodes, 0) / cast(zones.nodes AS DOUBLE), 12) AS zone_share
FROM zones
CROSS JOIN bands
LEFT JOIN counted ON zones.zone = counted.zone AND bands.band = counted.band
ORDER BY zones.zone, bin_start;
