-- tasks: view units
-- times are ms, as documented, or seconds since 1970; memory is MB, or KB where a task of a file
-- asked for more than 4 TiB else
SELECT CASE WHEN coalesce(bool_and(submission_time BETWEEN 1e9 AND 1e11), false) THEN 1000 ELSE 1
        END AS ms,
    CASE WHEN max(mem_capacity) > 4194304 THEN 1024 ELSE 1048576 END AS bytes
FROM tasks;

-- tasks: view firsts
SELECT *, submission_time::BIGINT * ms AS time_ms
FROM (FROM tasks QUALIFY line = min(line) OVER (PARTITION BY id)), units;

-- tasks: refused
SELECT line, 'id' AS "column", id AS value, 'an id that no task before has' AS expected
FROM tasks QUALIFY line > min(line) OVER (PARTITION BY id);

-- tasks: container
SELECT time_ms, id AS container, time_ms + duration::BIGINT * ms AS departure_ms, line AS position,
    line
FROM firsts;

-- tasks: container_resource
SELECT time_ms, id AS container, line, unnest([
    request('cpu', cpu_count, 'cores'), request('memory', mem_capacity * bytes, 'bytes'),
    request('gpu', gpu_count, 'count')], recursive := true)
FROM firsts;

-- fragments: table task
SELECT DISTINCT ON (id) id, submission_time::BIGINT * ms AS submitted_ms, ms, cpu_count,
    cpu_capacity, gpu_count, gpu_capacity
FROM tasks, (
    SELECT CASE WHEN coalesce(bool_and(submission_time BETWEEN 1e9 AND 1e11), false) THEN 1000
        ELSE 1 END AS ms FROM tasks)
ORDER BY line;

-- fragments: view pieces
SELECT fragments.*, task.* EXCLUDE (id), fragments.duration * ms AS long_ms,
    coalesce(cpu_capacity <= 0 AND cpu_usage > 0, false) AS without_mhz
FROM fragments LEFT JOIN task USING (id);

-- fragments: refused
SELECT line, unnest(CASE WHEN submitted_ms IS NULL
    THEN {'column': 'id', 'value': id, 'expected': 'a task of the tasks beside'}
    ELSE {'column': 'cpu_usage', 'value': cpu_usage::VARCHAR,
        'expected': '0, as the task has no MHz'} END)
FROM pieces WHERE submitted_ms IS NULL OR without_mhz;

-- fragments: container_amount
-- a fragment begins where the one before it ends
SELECT (submitted_ms + passed_ms - long_ms)::BIGINT AS time_ms, id AS container, line, unnest([
    size('cpu', CASE cpu_usage WHEN 0 THEN 0 ELSE cpu_usage / cpu_capacity * cpu_count END, 'cores'),
    size('gpu', CASE gpu_usage WHEN 0 THEN 0 ELSE gpu_usage / gpu_capacity * gpu_count END, 'count')],
    recursive := true)
FROM (
    SELECT *, sum(long_ms) OVER (PARTITION BY id ORDER BY line ROWS UNBOUNDED PRECEDING) AS passed_ms
    FROM pieces WHERE submitted_ms IS NOT NULL AND NOT without_mhz
);
