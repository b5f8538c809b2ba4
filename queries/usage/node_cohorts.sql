-- title: Busy, idle and memory-skewed nodes
-- description: Three groups of nodes (Yao et al., C.S.A. 2023 32(4)) and the containers on them:
--   HIGH, mean CPU of 0.7 or more; LOW, below 0.3; MEMSKEW, the nodes whose memory is farthest
--   above their CPU. Who is in them: usage/cohort_members. A group without nodes is absent.
-- reads: usage_cohort_members, usage_node_containers
-- column: cohort VARCHAR HIGH, LOW or MEMSKEW.
-- column: nodes BIGINT Nodes in the group [nodes].
-- column: containers_per_node DOUBLE Mean over its nodes of their containers [containers].
-- column: container_cpu_mean DOUBLE Mean over containers on its nodes of their mean CPU [0..1].
-- column: container_cpu_std DOUBLE Mean over the same of their standard deviation of CPU [0..1].
-- column: cpu_mean DOUBLE Mean over its nodes of their mean CPU [0..1].
-- column: memory_mean DOUBLE Mean over its nodes of their mean memory [0..1].
-- order: cohort
-- run: duckdb catalog.duckdb -f queries/usage/node_cohorts.sql
SELECT
    members.cohort,
    count(*) AS nodes,
    round(avg(coalesce(hosts.containers, 0)), 12) AS containers_per_node,
    round(sum(hosts.stays * hosts.container_cpu_mean) / sum(hosts.stays), 12) AS container_cpu_mean,
    round(sum(hosts.stays * hosts.container_cpu_std) / sum(hosts.stays), 12) AS container_cpu_std,
    round(avg(members.cpu_mean), 12) AS cpu_mean,
    round(avg(members.memory_mean), 12) AS memory_mean
FROM usage_cohort_members AS members
LEFT JOIN usage_node_containers AS hosts ON members.node = hosts.node
GROUP BY members.cohort
ORDER BY members.cohort;
