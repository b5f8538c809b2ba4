-- title: Containers per node against utilization
-- description: How many nodes have a number of containers and a mean utilization in a bin, for CPU
--   and for memory (the heat maps of figure 7 of Yao et al., C.S.A. 2023 32(4)). Full use belongs
--   to the last bin. A node without containers is in no cell; a cell without nodes is absent.
-- reads: usage_node_profile, usage_node_containers
-- param: bin_width DOUBLE Width of a bin of utilization [0..1].
-- column: containers BIGINT Containers on the node, the median over time [containers].
-- column: resource VARCHAR cpu or memory.
-- column: bin_start DOUBLE Lower edge of the bin of mean utilization [0..1].
-- column: nodes BIGINT Nodes in the cell [nodes].
-- order: containers, resource, bin_start
-- run: duckdb catalog.duckdb -f queries/usage/containers_per_node.sql
WITH found AS (
    SELECT
        hosts.containers,
        'cpu' AS resource,
        profile.cpu_mean AS mean
    FROM usage_node_containers AS hosts
    INNER JOIN usage_node_profile AS profile ON hosts.node = profile.node
    UNION ALL
    SELECT
        hosts.containers,
        'memory' AS resource,
        profile.memory_mean AS mean
    FROM usage_node_containers AS hosts
    INNER JOIN usage_node_profile AS profile ON hosts.node = profile.node
),

binned AS (
    SELECT
        containers,
        resource,
        -- the small terms keep a value that is an edge, such as 0.7, in the bin it starts
        least(
            cast(floor(mean / coalesce(getvariable('bin_width')::DOUBLE, 0.1) + 1e-9) AS BIGINT),
            cast(ceil(1 / coalesce(getvariable('bin_width')::DOUBLE, 0.1) - 1e-9) AS BIGINT) - 1
        ) AS bin
    FROM found
),

counted AS (
    SELECT
        containers,
        resource,
        bin,
        count(*) AS nodes
    FROM binned
    GROUP BY containers, resource, bin
)

SELECT
    containers,
    resource,
    round(bin * coalesce(getvariable('bin_width')::DOUBLE, 0.1), 12) AS bin_start,
    nodes
FROM counted
ORDER BY containers, resource, bin_start;
