-- log: view jobs
SELECT line, job::BIGINT::VARCHAR AS container, submit_s * 1000 AS time_ms,
    greatest(requested_processors, allocated_processors) AS processors,
    -- a job that ended at once or was cancelled before it began takes a second
    greatest(run_s, 1) AS run_s, requested_memory_kb, used_memory_kb, mean_cpu_s, executable,
    line = min(line) OVER (PARTITION BY job::BIGINT) AS is_first
FROM log;

-- log: container
SELECT time_ms, container, 'executable-' || executable::BIGINT AS service,
    (time_ms / 1000 + run_s) * 1000 AS departure_ms, line AS position, line
FROM jobs;

-- log: container_resource
SELECT time_ms, container, line, unnest([
    request('cpu', processors, 'cores'),
    request('memory', requested_memory_kb * processors, 'bytes')], recursive := true)
FROM jobs WHERE is_first;

-- log: container_amount
SELECT time_ms, container, line, unnest([
    size('cpu', mean_cpu_s / run_s * processors, 'cores'),
    size('memory', used_memory_kb * processors, 'bytes')], recursive := true)
FROM jobs WHERE is_first;

-- log: view settings
SELECT key, arg_min(value, line) AS value
FROM (
    SELECT line, unnest(regexp_extract(text, '^;\s*([A-Za-z]+):\s*(.*?)\s*$', ['key', 'value']))
    FROM comments
) GROUP BY key;

-- log: view computer
-- its nodes where each job fits one of them, else one pool of processors
WITH numbers AS (
    SELECT nullif(TRY_CAST(regexp_extract(max(value) FILTER (key = 'MaxProcs'), '^\d+') AS BIGINT), 0)
            AS processors,
        nullif(TRY_CAST(regexp_extract(max(value) FILTER (key = 'MaxNodes'), '^\d+') AS BIGINT), 0)
            AS nodes,
        '{' || coalesce(string_agg('"' || key || '": ' || to_json(value)::VARCHAR, ', '
            ORDER BY list_position(stated, key)) FILTER (list_contains(stated, key)), '') || '}' AS labels
    FROM settings, (SELECT ['Computer', 'Installation', 'MaxNodes', 'MaxProcs', 'UnixStartTime',
        'TimeZoneString'] AS stated)
),
fits AS (
    SELECT labels, coalesce(processors, nodes) AS total, coalesce(nodes, 1) AS count,
        coalesce((SELECT max(processors) FROM jobs), 0) > total / count AS pooled
    FROM numbers WHERE coalesce(processors, nodes) IS NOT NULL
)
SELECT labels, CASE WHEN pooled THEN total ELSE total / count END AS cores,
    CASE WHEN pooled THEN 'pool' ELSE 'node-' || copy END AS node, copy + 1 AS line
FROM fits, range(CASE WHEN pooled THEN 1 ELSE count END) AS copies(copy);

-- log: node
SELECT 0 AS time_ms, node, labels, line FROM computer;

-- log: node_resource
SELECT 0 AS time_ms, node, line, 'cpu' AS resource, cores AS amount, 'cores' AS unit FROM computer;
