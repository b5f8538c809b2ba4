-- machines: node
SELECT 0 AS time_ms, node, line AS position, 'ready' AS state, gpu_type AS platform,
    label('gpu_type', gpu_type) AS labels, line
FROM machines;

-- machines: node_resource
SELECT 0 AS time_ms, node, line, unnest([
    size('cpu', cpu, 'cores'), size('memory', memory, 'bytes'), size('gpu', gpu, 'count')],
    recursive := true)
FROM machines;

-- tasks: view batch
SELECT *, [request('cpu', cpu, 'cores'), request('memory', memory, 'bytes'),
    request('gpu', gpu, 'count')] AS requests
FROM tasks;

-- instances: table task_requests
SELECT DISTINCT ON (job, task) job, task, [request('cpu', cpu, 'cores'),
    request('memory', memory, 'bytes'), request('gpu', gpu, 'count')] AS requests
FROM tasks;

-- instances: table tagged
SELECT DISTINCT ON (job_id) job_id, gpu_type FROM tags;

-- instances: view named
SELECT *, name AS container, one_of('gpu_type', gpu_type) AS selector
FROM instances LEFT JOIN tagged USING (job_id);

-- sensors: table starts
SELECT DISTINCT ON (name) name, start FROM instances;

-- sensors: container_amount
-- an average over the life of an instance stands where it began
SELECT start AS time_ms, name AS container, line, unnest([
    size('cpu', cpu, 'cores'), size('gpu', gpu, 'count'), size('memory', memory, 'bytes'),
    size('memory_max', memory_max, 'bytes'), size('gpu_memory', gpu_memory, 'bytes'),
    size('gpu_memory_max', gpu_memory_max, 'bytes'), size('net_in', net_in, 'bytes'),
    size('net_out', net_out, 'bytes'), size('net_in_count', net_in_count, 'count'),
    size('net_out_count', net_out_count, 'count')], recursive := true)
FROM sensors JOIN starts USING (name) WHERE start IS NOT NULL;

-- sensors: refused
SELECT line, 'name' AS "column", name AS value,
    'a worker_name of pai_instance_table, which says when it began' AS expected
FROM sensors ANTI JOIN (FROM starts WHERE start IS NOT NULL) USING (name);

-- machine_usage: node_amount
SELECT start AS time_ms, node, line, unnest([
    size('cpu', cpu, 'fraction'), size('cpu_iowait', cpu_iowait, 'fraction'),
    size('cpu_kernel', cpu_kernel, 'fraction'), size('cpu_user', cpu_user, 'fraction'),
    size('gpu', gpu, 'fraction'), size('load1', load1, 'count'), size('net_in', net_in, 'bytes'),
    size('containers', containers, 'count')], recursive := true)
FROM machine_usage;
