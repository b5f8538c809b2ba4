-- title: Causes of utilization change
-- description: How often the nodes' utilization changed because containers came (deploy+) or left
--   (deploy-), because of requests (CPU moved by a step), or hardly at all (quiet), and by how
--   much (table 1 of Yao et al., C.S.A. 2023 32(4)). Rises and falls cancel in the means; the
--   sizes tell them. A cause without events is absent.
-- reads: usage_node_causes
-- column: cause VARCHAR deploy+, deploy-, request or quiet.
-- column: events BIGINT Steps with this label, over all nodes [steps].
-- column: nodes BIGINT Nodes with at least one such step [nodes].
-- column: cpu_change_mean DOUBLE Mean change of CPU in use / capacity [-1..1].
-- column: memory_change_mean DOUBLE Mean change of memory in use / capacity [-1..1].
-- column: cpu_move_mean DOUBLE Mean size of the change of CPU [0..1].
-- column: memory_move_mean DOUBLE Mean size of the change of memory [0..1].
-- order: cause
-- run: duckdb catalog.duckdb -f queries/usage/change_causes.sql
SELECT
    cause,
    cast(sum(events) AS BIGINT) AS events,
    count(*) AS nodes,
    round(sum(events * cpu_change_mean) / sum(events), 12) AS cpu_change_mean,
    round(sum(events * memory_change_mean) / sum(events), 12) AS memory_change_mean,
    round(sum(events * cpu_move_mean) / sum(events), 12) AS cpu_move_mean,
    round(sum(events * memory_move_mean) / sum(events), 12) AS memory_move_mean
FROM usage_node_causes
GROUP BY cause
ORDER BY cause;
