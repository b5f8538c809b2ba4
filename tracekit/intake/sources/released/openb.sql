-- nodes: node
SELECT 0 AS time_ms, sn AS node, line AS position, 'ready' AS state, model AS platform,
    label('gpu_model', model) AS labels, line
FROM nodes;

-- nodes: node_resource
SELECT 0 AS time_ms, sn AS node, line, unnest([
    size('cpu', cpu_milli, 'cores'), size('memory', memory_mib, 'bytes'),
    size('gpu', gpu, 'count')], recursive := true)
FROM nodes;

-- pods: container
SELECT creation_time AS time_ms, name AS container,
    row_number() OVER (ORDER BY creation_time NULLS LAST, line) - 1 AS position,
    deletion_time AS departure_ms, one_of('gpu_model', gpu_spec) AS selector, line
FROM pods;

-- pods: container_resource
SELECT creation_time AS time_ms, name AS container, line, unnest([
    request('cpu', cpu_milli, 'cores'), request('memory', memory_mib, 'bytes'),
    request('gpu', CASE WHEN num_gpu * gpu_milli > 0 THEN num_gpu * gpu_milli * 0.001 END, 'count')],
    recursive := true)
FROM pods;
