-- nodes: node
SELECT 0 AS time_ms, node_name AS node, line AS position, 'ready' AS state,
    gpu_model AS platform, label('gpu_model', gpu_model) AS labels, line
FROM nodes;

-- nodes: node_resource
SELECT 0 AS time_ms, node_name AS node, line, unnest([
    size('cpu', cpu_num, 'cores'), size('gpu', gpu_capacity_num, 'count')], recursive := true)
FROM nodes;

-- jobs: view workers
SELECT *, unnest(range(worker_num::BIGINT)) AS number FROM jobs;

-- jobs: container
SELECT submit_time AS time_ms, job_name || '/' || number AS container, job_name AS service,
    line AS position, submit_time + duration AS departure_ms,
    CASE job_type WHEN 'HP' THEN 1 ELSE 0 END AS priority,
    one_of('gpu_model', gpu_model) AS selector, line
FROM workers;

-- jobs: container_resource
SELECT submit_time AS time_ms, job_name || '/' || number AS container, line, unnest([
    request('cpu', cpu_request, 'cores'), request('gpu', gpu_request, 'count')], recursive := true)
FROM workers;
