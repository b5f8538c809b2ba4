-- machines: table named
SELECT machine AS node, borg_ms(time) AS time_ms, name,
    CASE WHEN deleted = 1 THEN NULL ELSE coalesce(value, '') END AS value, line
FROM attributes WHERE in_trace(time);

-- machines: view events
SELECT borg_ms(time) AS time_ms, machine AS node, event, platform, cpu, memory, line
FROM machines WHERE in_trace(time);

-- machines: node
SELECT time_ms, node, CASE event WHEN 1 THEN 'gone' ELSE 'ready' END AS state, platform, labels,
    line - 1 AS position, line
FROM labelled;

-- machines: node_resource
SELECT time_ms, node, line, unnest([
    size('cpu', cpu, 'fraction'), size('memory', memory, 'fraction')], recursive := true)
FROM events WHERE event <> 1;

-- tasks: container_resource
SELECT borg_ms(time) AS time_ms, job || '/' || task AS container, line, unnest([
    request('cpu', cpu, 'fraction'), request('memory', memory, 'fraction'),
    request('disk', disk, 'fraction')], recursive := true)
FROM tasks
WHERE in_trace(time) AND (event IN (0, 7, 8) OR (event = 1 AND missing IS NOT NULL));

-- tasks: container once
-- it begins with its first start and leaves with the last end that no start follows
WITH events AS (
    SELECT *, borg_ms(time) AS time_ms, (borg_ms(time), rowid) AS at_time,
        event IN (0, 1) AS starts, event IN (2, 3, 4, 5, 6) AS ends
    FROM tasks WHERE in_trace(time)
),
lives AS (
    SELECT job || '/' || task AS container, any_value(job) AS service, min(at_time) AS first_time,
        coalesce(min(time_ms) FILTER (starts), min(time_ms)) AS time_ms,
        CASE WHEN arg_max(ends, at_time) FILTER (starts OR ends)
            THEN max(time_ms) FILTER (starts OR ends) END AS departure_ms,
        arg_min(machine, at_time) AS node, arg_min(priority, at_time) AS priority,
        arg_min(job, at_time) FILTER (different = 1) AS apart, arg_min(line, at_time) AS line
    FROM events GROUP BY job, task
)
SELECT * EXCLUDE (first_time), CASE WHEN apart IS NOT NULL THEN 'node' END AS apart_domain,
    row_number() OVER (ORDER BY time_ms, first_time) - 1 AS position
FROM lives;

-- usage: container_amount
SELECT borg_ms(time) AS time_ms, job || '/' || task AS container, line, unnest([
    size('cpu', cpu, 'fraction'), size('memory', memory, 'fraction'),
    size('disk', disk, 'fraction'), size('disk_io', disk_io, 'fraction')], recursive := true)
FROM usage WHERE in_trace(time);
