-- machines: view events
SELECT node, time AS time_ms, domain, line, cpu, normal(memory) * 0.01 AS memory,
    last_value(zone IGNORE NULLS) OVER history AS zone,
    CASE WHEN status = 'USING' THEN 'ready' ELSE 'closed' END AS state,
    min(line) OVER (PARTITION BY node) AS position
FROM machines
WINDOW history AS (PARTITION BY node ORDER BY time, line);

-- machines: node
SELECT time_ms, node, position, state, domain, zone, line
FROM events
QUALIFY (state, domain, zone) IS DISTINCT FROM
    lag((state, domain, zone)) OVER (PARTITION BY node ORDER BY time_ms, line);

-- machines: node_resource
SELECT time_ms, node, line, unnest([
    size('cpu', cpu, 'cores'), size('memory', memory, 'fraction')], recursive := true)
FROM (
    FROM events
    QUALIFY (cpu, memory) IS DISTINCT FROM
        lag((cpu, memory)) OVER (PARTITION BY node ORDER BY time_ms, line)
);

-- machine_usage: node_usage
SELECT time AS time_ms, node, normal(cpu) / 100 AS cpu_fraction,
    normal(memory) / 100 AS memory_fraction, line
FROM machine_usage;

-- machine_usage: node_amount
SELECT time AS time_ms, node, line, unnest([
    size('memory_bandwidth', normal(bandwidth) * 0.01, 'fraction'), size('mpki', mpki, 'count'),
    size('net_in', normal(net_in) * 0.01, 'fraction'),
    size('net_out', normal(net_out) * 0.01, 'fraction'),
    size('disk_io', normal(disk_io) * 0.01, 'fraction')], recursive := true)
FROM machine_usage;

-- containers: container
-- one departs with the first of its last rows that say stopped
WITH events AS (
    SELECT *, bool_and(coalesce(status = 'stopped', false))
        OVER (PARTITION BY container ORDER BY time DESC, line DESC) AS ended
    FROM containers
)
SELECT min(time) AS time_ms, container, arg_min(service, (time, line)) AS service,
    arg_min(node, (time, line)) AS node, min(line) AS position,
    min(time) FILTER (ended) AS departure_ms, arg_min(line, (time, line)) AS line
FROM events GROUP BY container;

-- containers: container_resource
SELECT time AS time_ms, container, line, unnest([
    request_limit('cpu', request, "limit", 'cores'),
    request_limit('memory', normal(memory) * 0.01, NULL, 'fraction')], recursive := true)
FROM (
    FROM containers
    QUALIFY (request, "limit", normal(memory)) IS DISTINCT FROM
        lag((request, "limit", normal(memory))) OVER (PARTITION BY container ORDER BY time, line)
);

-- container_usage: container_usage
SELECT time AS time_ms, container, node, cpu / 100 AS cpu_fraction,
    normal(memory) / 100 AS memory_fraction, line
FROM container_usage;

-- container_usage: container_amount
SELECT time AS time_ms, container, line, unnest([
    size('cpi', cpi, 'count'), size('memory_bandwidth', normal(bandwidth) * 0.01, 'fraction'),
    size('mpki', mpki, 'count'), size('net_in', normal(net_in) * 0.01, 'fraction'),
    size('net_out', normal(net_out) * 0.01, 'fraction'),
    size('disk_io', normal(disk_io) * 0.01, 'fraction')], recursive := true)
FROM container_usage;

-- tasks: view batch
SELECT *, [request('cpu', cpu, 'cores'), request('memory', memory, 'fraction')] AS requests
FROM tasks;

-- instances: table task_requests
SELECT DISTINCT ON (job, task) job, task,
    [request('cpu', cpu, 'cores'), request('memory', memory, 'fraction')] AS requests
FROM tasks;

-- instances: view named
SELECT *, coalesce(job, '') || '/' || coalesce(task, '') || '/' || name
        || CASE WHEN try > 1 THEN '#' || try::BIGINT ELSE '' END AS container,
    NULL AS selector
FROM instances;

-- instances: container_amount
SELECT greatest(start, 0) AS time_ms, container, line, unnest([
    size('cpu', cpu, 'cores'), size('memory', memory, 'fraction')], recursive := true)
FROM named;
