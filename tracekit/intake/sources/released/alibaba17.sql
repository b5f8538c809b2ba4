-- machines: view events
SELECT *, CASE event WHEN 'add' THEN 'ready' ELSE 'closed' END AS state,
    CASE WHEN detail IS NULL AND last_value(detail IGNORE NULLS) OVER history IS NOT NULL
        THEN '{}' ELSE label('error', detail) END AS labels,
    min(line) OVER (PARTITION BY node) AS position
FROM machines
WINDOW history AS (PARTITION BY node ORDER BY time, line);

-- machines: node
SELECT time AS time_ms, node, position, state, labels, line
FROM events
QUALIFY (state, labels) IS DISTINCT FROM
    lag((state, labels)) OVER (PARTITION BY node ORDER BY time, line);

-- machines: node_resource
SELECT time AS time_ms, node, line, unnest([
    size('cpu', cpu, 'cores'), size('memory', memory, 'fraction'),
    size('disk', disk, 'fraction')], recursive := true)
FROM events WHERE event = 'add';

-- machine_usage: node_usage
SELECT time AS time_ms, node, cpu / 100 AS cpu_fraction, memory / 100 AS memory_fraction, line
FROM machine_usage;

-- machine_usage: node_amount
SELECT time AS time_ms, node, line, unnest([
    size('disk', disk, 'fraction'), size('load1', load1, 'count'), size('load5', load5, 'count'),
    size('load15', load15, 'count')], recursive := true)
FROM machine_usage;

-- containers: view created
SELECT * FROM containers WHERE event = 'Create';

-- containers: view others
SELECT containers.*, arrival
FROM containers
LEFT JOIN (SELECT container, min(time) AS arrival FROM created GROUP BY container)
    USING (container)
WHERE event IS DISTINCT FROM 'Create';

-- containers: refused
SELECT line, text, unnest(CASE
    WHEN event <> 'Remove'
        THEN {'column': 'event', 'value': event, 'expected': 'Create or Remove'}
    WHEN arrival IS NULL
        THEN {'column': 'container', 'value': container, 'expected': 'an instance that was created'}
    WHEN time < arrival
        THEN {'column': 'time', 'value': (time / 1000)::VARCHAR,
            'expected': 'no time before its creation'} END)
FROM others
WHERE event <> 'Remove' OR arrival IS NULL OR time < arrival;

-- containers: view bound
-- 32|33|34|40 as 32-34,40
WITH numbers AS (
    SELECT DISTINCT line, TRY_CAST(unnest(string_split(cpus, '|')) AS INTEGER) AS vcpu FROM created
),
runs AS (
    SELECT line, min(vcpu) AS first, max(vcpu) AS last
    FROM (
        SELECT *, vcpu - row_number() OVER (PARTITION BY line ORDER BY vcpu) AS run
        FROM numbers WHERE vcpu IS NOT NULL
    ) GROUP BY line, run
)
SELECT line, string_agg(CASE WHEN first = last THEN first::VARCHAR ELSE first || '-' || last END,
    ',' ORDER BY first) AS vcpus
FROM runs GROUP BY line;

-- containers: container
WITH ends AS (
    SELECT container, max(time) AS departure_ms
    FROM others WHERE event = 'Remove' AND time >= arrival GROUP BY container
)
SELECT time AS time_ms, container, container AS service, node, line AS position, departure_ms,
    CASE WHEN regexp_full_match(cpus, '[\d|]*') THEN vcpus ELSE cpus END AS vcpus, line
FROM created LEFT JOIN ends USING (container) LEFT JOIN bound USING (line);

-- containers: container_resource
SELECT time AS time_ms, container, line, unnest([
    request('cpu', cpu, 'cores'), request('memory', memory, 'fraction'),
    request('disk', disk, 'fraction')], recursive := true)
FROM (FROM created QUALIFY line = min(line) OVER (PARTITION BY container));

-- container_usage: table places
-- the file itself names no node
SELECT DISTINCT ON (container) container, node FROM containers WHERE event = 'Create';

-- container_usage: container_usage
SELECT time AS time_ms, container AS service, container, node, cpu / 100 AS cpu_fraction,
    memory / 100 AS memory_fraction, line
FROM container_usage LEFT JOIN places USING (container);

-- container_usage: container_amount
SELECT time AS time_ms, container, line, unnest([
    size('disk', disk, 'fraction'), size('load1', load1, 'count'), size('load5', load5, 'count'),
    size('load15', load15, 'count'), size('cpi', cpi, 'count'), size('mpki', mpki, 'count'),
    size('cpi_max', cpi_max, 'count'), size('mpki_max', mpki_max, 'count')], recursive := true)
FROM container_usage;

-- tasks: view batch
SELECT *, [request('cpu', cpu, 'cores'), request('memory', memory, 'fraction')] AS requests
FROM tasks;

-- instances: table task_requests
SELECT DISTINCT ON (job, task) job, task,
    [request('cpu', cpu, 'cores'), request('memory', memory, 'fraction')] AS requests
FROM tasks;

-- instances: view named
SELECT *, coalesce(job, '') || '/' || coalesce(task, '') || '/' || line
        || CASE WHEN try > 1 THEN '#' || try::BIGINT ELSE '' END AS container,
    NULL AS selector
FROM instances;

-- instances: container_amount
SELECT greatest(start, 0) AS time_ms, container, line, unnest([
    size('cpu', cpu, 'cores'), size('memory', memory, 'fraction')], recursive := true)
FROM named;
