-- machines: table named
SELECT machine_id AS node, borg_ms(time) AS time_ms, name,
    CASE WHEN deleted IN ('true', 'True', '1') THEN NULL ELSE coalesce(value, '') END AS value, line
FROM attributes WHERE in_trace(time);

-- machines: view events
SELECT borg_ms(time) AS time_ms, machine_id AS node, machine_event(type) AS event, switch_id,
    platform_id, capacity.cpus AS cpus, capacity.memory AS memory, line
FROM machines WHERE in_trace(time);

-- machines: node
SELECT time_ms, node, CASE event WHEN 2 THEN 'gone' ELSE 'ready' END AS state, switch_id AS rack,
    platform_id AS platform, labels, line - 1 AS position, line
FROM labelled;

-- machines: refused
SELECT 'node_resource' AS "table", line, unnest(wrong_sizes(cpus, memory), recursive := true)
FROM events WHERE event <> 2;

-- machines: node_resource
SELECT time_ms, node, line, unnest([
    size('cpu', cpus::DOUBLE, 'fraction'), size('memory', memory::DOUBLE, 'fraction')],
    recursive := true)
FROM events WHERE event <> 2 AND len(wrong_sizes(cpus, memory)) = 0;

-- instances: view instance_requests
SELECT borg_ms(time) AS time_ms, collection_id || '/' || instance_index AS container,
    resource_request.cpus AS cpus, resource_request.memory AS memory, line,
    coalesce(alloc_collection_id, '0') NOT IN ('0', '-1') AS in_alloc
FROM instances
WHERE in_trace(time) AND (instance_event(type) IN (0, 9, 10) OR (instance_event(type) = 3
    AND coalesce(missing_type, '0') NOT IN ('0', 'MISSING_TYPE_NONE')));

-- instances: refused
SELECT 'container_resource' AS "table", line, unnest(wrong_sizes(cpus, memory), recursive := true)
FROM instance_requests;

-- instances: container_resource
-- a task in an alloc has no reservation of its own
SELECT time_ms, container, line, unnest([
    alloc_request('cpu', cpus::DOUBLE, in_alloc), alloc_request('memory', memory::DOUBLE, in_alloc)],
    recursive := true)
FROM instance_requests WHERE len(wrong_sizes(cpus, memory)) = 0;

-- instances: container once
-- it begins with its first start and leaves with the last end that no start follows
WITH events AS (
    SELECT *, borg_ms(time) AS time_ms, (borg_ms(time), rowid) AS at_time,
        collection_id || '/' || instance_index AS container,
        instance_event(type) IN (0, 3) AS starts, instance_event(type) IN (4, 5, 6, 7, 8) AS ends,
        code(collection_type, ['JOB', 'ALLOC_SET']) = 1 AS is_alloc,
        coalesce(alloc_collection_id, '0') NOT IN ('0', '-1') AS in_alloc,
        CASE WHEN getvariable('attributes') > 0 THEN '[[' || nullif(array_to_string(list_filter(
            list_transform("constraint", lambda one: requirement(one)),
            lambda one: one IS NOT NULL), ', '), '') || ']]' END AS selector
    FROM instances WHERE in_trace(time)
),
lives AS (
    SELECT container, collection_id AS service, min(at_time) AS first_time,
        coalesce(min(time_ms) FILTER (starts), min(time_ms)) AS time_ms,
        CASE WHEN arg_max(ends, at_time) FILTER (starts OR ends)
            THEN max(time_ms) FILTER (starts OR ends) END AS departure_ms,
        arg_min(machine_id, at_time) FILTER (machine_id NOT IN ('0', '-1')) AS node,
        arg_min(TRY_CAST(priority AS DOUBLE), at_time) AS priority,
        arg_min(CASE WHEN is_alloc THEN container
            ELSE alloc_collection_id || '/' || alloc_instance_index END, at_time)
            FILTER (is_alloc OR in_alloc) AS together,
        CASE WHEN bool_or(is_alloc OR in_alloc) THEN 'node' END AS together_domain,
        arg_min(selector, at_time) AS selector, arg_min(line, at_time) AS line
    FROM events GROUP BY container, collection_id
),
limits AS (
    SELECT collection_id AS service, max(TRY_CAST(max_per_machine AS BIGINT)) AS per_machine,
        max(TRY_CAST(max_per_switch AS BIGINT)) AS per_switch
    FROM collections GROUP BY collection_id
)
SELECT lives.* EXCLUDE (first_time),
    CASE WHEN per_machine > 0 OR per_switch > 0 THEN service END AS apart,
    CASE WHEN per_machine > 0 THEN 'node' WHEN per_switch > 0 THEN 'rack' END AS apart_domain,
    CASE WHEN per_machine > 0 THEN per_machine WHEN per_switch > 0 THEN per_switch END AS apart_most,
    row_number() OVER (ORDER BY time_ms, first_time) - 1 AS position
FROM lives LEFT JOIN limits USING (service);

-- usage: view samples
SELECT borg_ms(start_time) AS time_ms, collection_id || '/' || instance_index AS container, line,
    average_usage.cpus AS cpus, average_usage.memory AS memory
FROM usage WHERE in_trace(start_time);

-- usage: refused
SELECT line, unnest(wrong_sizes(cpus, memory), recursive := true) FROM samples;

-- usage: container_amount
SELECT time_ms, container, line, unnest([
    size('cpu', cpus::DOUBLE, 'fraction'), size('memory', memory::DOUBLE, 'fraction')],
    recursive := true)
FROM samples WHERE len(wrong_sizes(cpus, memory)) = 0;
