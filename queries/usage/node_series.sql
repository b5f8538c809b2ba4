-- title: CPU and memory of one node over time
-- description: The samples of one node in the order of time. Without a node, the first one by id.
-- reads: node_usage, node_usage_keyed
-- param: node VARCHAR The node's id.
-- column: time_ms BIGINT Time since trace start [ms].
-- column: cpu_fraction DOUBLE CPU in use / capacity [0..1].
-- column: memory_fraction DOUBLE Memory in use / capacity [0..1].
-- order: time_ms
-- run: duckdb catalog.duckdb -cmd "SET VARIABLE node = '50f7…'" -f queries/usage/node_series.sql
SELECT
    time_ms,
    cpu_fraction,
    memory_fraction
FROM node_usage
WHERE
    node = coalesce(getvariable('node')::STRING, '')
    OR (
        coalesce(getvariable('node')::STRING, '') = ''
        AND node_key = (SELECT min(first.node_key) FROM node_usage_keyed AS first)
    )
ORDER BY time_ms;
