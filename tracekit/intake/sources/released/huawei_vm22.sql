-- qos: node
SELECT 0 AS time_ms, pod_host AS node, min(line) AS line FROM qos GROUP BY pod_host;

-- qos: container
-- cells are numbers, lists of them, or objects
SELECT 0 AS time_ms, instance_id AS container, pod_host AS node, line - 1 AS position,
    CASE flavor_group WHEN 'F1' THEN 1 ELSE 0 END AS priority,
    nullif(len(list_distinct(list_filter(
        list_transform(flatten([[json_extract(numa_typology, '$')],
            json_extract(numa_typology, '$[*]'), [json_extract(numa_typology, '$.cell_id')],
            json_extract(numa_typology, '$.cell_id[*]'), json_extract(numa_typology, '$[*].cell_id'),
            json_extract(numa_typology, '$[*].cell_id[*]')]),
            lambda cell: CASE WHEN json_type(cell) NOT IN ('OBJECT', 'ARRAY', 'NULL')
                THEN nullif(cell ->> '$', '') END),
        lambda cell: cell IS NOT NULL))), 0) AS numa_cells, line
FROM qos;

-- qos: container_resource
SELECT 0 AS time_ms, instance_id AS container, 'cpu' AS resource, vcpus AS request, 'cores' AS unit,
    line
FROM qos;

-- qos: container_amount
SELECT point * 300000 AS time_ms, container, line, unnest([
    size('cpu', used * vcpus / 100, 'cores'), size('steal_time', stolen / 100, 'fraction')],
    recursive := true)
FROM (
    SELECT instance_id AS container, line, vcpus, unnest(range(len(times))) AS point,
        unnest(times) AS time, unnest(cpu_util) AS used, unnest(steal_time) AS stolen
    FROM qos
) WHERE time <> 0;

-- hotspot: view host
SELECT 'hotspot/' || stem() AS node, point_ms(time_start) AS time_ms, host_vcpus, line
FROM hotspot ORDER BY line LIMIT 1;

-- hotspot: node
SELECT time_ms, node, line FROM host;

-- hotspot: node_resource
SELECT time_ms, node, 'cpu' AS resource, host_vcpus AS amount, 'cores' AS unit, line FROM host;

-- hotspot: container
SELECT point_ms(time_start) AS time_ms, 'hotspot/' || stem() || '/' || line AS container,
    'hotspot/' || stem() AS node, line - 1 AS position, line
FROM hotspot;

-- hotspot: container_amount
SELECT point_ms(time_start) + 300000 * unnest(range(len(vm_util))) AS time_ms,
    'hotspot/' || stem() || '/' || line AS container, 'cpu' AS resource, unnest(vm_util) AS amount,
    'cores' AS unit, line
FROM hotspot;

-- online: view vms
SELECT *, 'online/' || stem() || '/' || line AS container,
    round_even(Created_at_point * 300000, 0)::BIGINT AS time_ms
FROM online;

-- online: container
SELECT time_ms, container, line - 1 AS position,
    round_even((Created_at_point + duration_point) * 300000, 0)::BIGINT AS departure_ms, line
FROM vms;

-- online: container_resource
SELECT time_ms, container, 'memory' AS resource, memory AS request, 'bytes' AS unit, line FROM vms;

-- online: container_amount
SELECT time_ms + 300000 * unnest(range(len(vm_util))) AS time_ms, container, 'cpu' AS resource,
    unnest(vm_util) AS amount, 'cores' AS unit, line
FROM vms;

-- offline: view hosts
SELECT 'offline/' || stem() || '/' || pm_id AS node, vcpus, memory, line
FROM offline QUALIFY line = min(line) OVER (PARTITION BY pm_id);

-- offline: node
SELECT 0 AS time_ms, node, line FROM hosts;

-- offline: node_resource
SELECT 0 AS time_ms, node, line, unnest([
    size('cpu', vcpus, 'cores'), size('memory', memory, 'bytes')], recursive := true)
FROM hosts;

-- offline: view vms
SELECT node, line, 'offline/' || stem() || '/' || line
        || CASE vm.name WHEN '' THEN '' ELSE '/' || vm.name END AS container,
    vm.numbers AS used, row_number() OVER (ORDER BY line, place) - 1 AS position
FROM (
    SELECT 'offline/' || stem() || '/' || pm_id AS node, line, unnest(lists_of(cpu_usage)) AS vm,
        unnest(range(len(lists_of(cpu_usage)))) AS place
    FROM offline
);

-- offline: container
SELECT 0 AS time_ms, container, node, position, line FROM vms;

-- offline: container_amount
SELECT 300000 * unnest(range(len(used))) AS time_ms, container, 'cpu_of_vm' AS resource,
    unnest(used) / 100 AS amount, 'fraction' AS unit, line
FROM vms;
