-- events: view sized
-- larger ones are none: the unit is another
SELECT *, cpu >= 1000 AS large_cpu, memory >= cpu * 128 AS large_memory
FROM events;

-- events: stopped
SELECT "column" || ' is in ' || unit || ', but ' || format('{:,}', above) || ' of '
    || format('{:,}', sized) || ' values are ' || bound || ' or more, '
    || format('{:,}', example::BIGINT) || ' for example' AS what,
    'it looks like ' || likely || '; nothing of the file was taken in' AS hint
FROM (
    SELECT unnest([
        {'column': 'cpu', 'unit': 'cores', 'bound': '1,000 cores',
            'above': count(*) FILTER (large_cpu), 'likely': 'millicores',
            'example': first(cpu ORDER BY line) FILTER (large_cpu)},
        {'column': 'memory', 'unit': 'GB', 'bound': '128 GB per core',
            'above': count(*) FILTER (large_memory),
            'likely': CASE WHEN median(memory / cpu) FILTER (large_memory) < 131072
                THEN 'MB' ELSE 'bytes' END,
            'example': first(memory ORDER BY line) FILTER (large_memory)}], recursive := true),
        count(*) AS sized
    FROM sized WHERE cpu > 0 AND memory > 0
) WHERE 2 * above > sized;

-- events: view firsts
SELECT *, line = min(line) OVER (PARTITION BY vmid, type) AS is_first
FROM sized WHERE type = 1 OR NOT coalesce(large_cpu OR large_memory, false);

-- events: view deletions
SELECT deleted.*, created.time AS since
FROM firsts AS deleted
LEFT JOIN (FROM firsts WHERE type = 0 AND is_first) AS created USING (vmid)
WHERE deleted.type = 1 AND deleted.is_first;

-- events: refused
SELECT line, 'cpu' AS "column", cpu AS value, 'less than 1,000 cores' AS expected, text
FROM sized WHERE type = 0 AND large_cpu
UNION ALL
SELECT line, 'memory', memory, 'less than 128 GB per core', text
FROM sized WHERE type = 0 AND large_memory AND NOT large_cpu
UNION ALL
SELECT line, 'vmid', vmid, 'an id that comes once with each type', text
FROM firsts WHERE NOT is_first
UNION ALL
SELECT line, 'vmid', vmid, 'a VM that was created', text FROM deletions WHERE since IS NULL
UNION ALL
SELECT line, 'time', time / 1000, 'a time behind its creation', text
FROM deletions WHERE time < since;

-- events: view vms
SELECT created.*, deleted.time AS departure_ms
FROM firsts AS created
LEFT JOIN (FROM deletions WHERE time >= since) AS deleted USING (vmid)
WHERE created.type = 0 AND created.is_first;

-- events: container
SELECT vmid AS container, time AS time_ms, departure_ms,
    row_number() OVER (ORDER BY line) - 1 AS position, line
FROM vms;

-- events: container_resource
SELECT time AS time_ms, vmid AS container, line, unnest([
    request('cpu', cpu, 'cores'), request('memory', memory * 1073741824, 'bytes')],
    recursive := true)
FROM vms;
