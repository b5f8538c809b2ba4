-- title: Deployments on the nodes of each correlation zone
-- description: How many nodes of each correlation zone saw a container come or go, which is what
--   Yao et al. (C.S.A. 2023 32(4)) hold to be the reason of zone C. A zone without nodes is absent.
-- reads: usage_node_profile, usage_node_causes
-- column: zone VARCHAR The correlation zone.
-- column: nodes BIGINT Nodes in the correlation zone [nodes].
-- column: deployed_nodes BIGINT Nodes with a step labelled deploy+ or deploy- [nodes].
-- column: deployed_share DOUBLE The same as a share of the nodes of the correlation zone [0..1].
-- order: zone
-- run: duckdb catalog.duckdb -f queries/usage/zone_deployments.sql
WITH deployed AS (
    SELECT DISTINCT node
    FROM usage_node_causes
    WHERE cause IN ('deploy+', 'deploy-')
)

SELECT
    profile.zone,
    count(*) AS nodes,
    count(deployed.node) AS deployed_nodes,
    round(count(deployed.node) / cast(count(*) AS DOUBLE), 12) AS deployed_share
FROM usage_node_profile AS profile
LEFT JOIN deployed ON profile.node = deployed.node
GROUP BY profile.zone
ORDER BY profile.zone;
