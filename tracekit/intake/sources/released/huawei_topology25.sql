-- servers: node_resource
SELECT 0 AS time_ms, format('server-{:04d}', line - 2) AS node, line, unnest([
    cell_size(NULL, 'cpu', CPU1 + CPU2, 'cores'), cell_size(NULL, 'memory', RAM1 + RAM2, 'bytes'),
    cell_size('0', 'cpu', CPU1, 'cores'), cell_size('0', 'memory', RAM1, 'bytes'),
    cell_size('1', 'cpu', CPU2, 'cores'), cell_size('1', 'memory', RAM2, 'bytes')], recursive := true)
FROM servers;

-- servers: node
SELECT 0 AS time_ms, format('server-{:04d}', line - 2) AS node, line - 2 AS position, line
FROM servers;

-- requests: view vms
WITH named AS (
    SELECT *, coalesce(
        nullif(regexp_extract(lower(getvariable('file')), '^vm_data_(c\d+)\.\w+$', 1), ''),
        regexp_replace(lower(getvariable('file')), '\.[^.]*$', '')) AS problem
    FROM requests
)
SELECT *, format('{}/{:04d}', problem, line - 2) AS container,
    problem || '/' || strategy || '/' || "group"::BIGINT AS grouped
FROM named;

-- requests: container
SELECT 0 AS time_ms, container,
    CASE WHEN strategy = 'fault_domain' THEN grouped || '/' || domain::BIGINT ELSE grouped END
        AS service,
    line - 2 AS position, CASE WHEN strategy = 'anti-affinity' THEN grouped END AS apart,
    CASE WHEN strategy = 'anti-affinity' THEN 'node' END AS apart_domain,
    numa AS numa_cells, line
FROM vms;

-- requests: container_resource
SELECT 0 AS time_ms, container, line, unnest([
    request('cpu', flavor_vcpus, 'cores'), request('memory', flavor_ram, 'bytes')],
    recursive := true)
FROM vms;

-- requests: sharing_rule
-- none of a group's fault domain beside one of another
WITH domains AS (
    SELECT grouped, domain::BIGINT AS domain, min(line) AS line
    FROM vms WHERE strategy = 'fault_domain' GROUP BY ALL
)
SELECT 0 AS time_ms, a.grouped || '/' || a.domain AS holder, b.grouped || '/' || b.domain AS guest,
    0 AS most, greatest(a.line, b.line) AS line
FROM domains AS a JOIN domains AS b ON a.grouped = b.grouped AND a.domain <> b.domain;

-- topology: node
SELECT 0 AS time_ms, host_id AS node, 'rack-' || rack_id::BIGINT AS rack, line
FROM topology WHERE getvariable('servers') = 0;
