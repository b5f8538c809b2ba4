-- instances: view limited
SELECT *, coalesce(creation_time, 0) AS time_ms,
    CASE WHEN max_instance_per_node <> -1 THEN max_instance_per_node::BIGINT END AS most
FROM instances;

-- instances: container
SELECT time_ms, instance_sn AS container, app_name AS service, line AS position,
    deletion_time AS departure_ms, app_name || '/' || most AS apart,
    CASE WHEN most IS NOT NULL THEN 'node' END AS apart_domain, most AS apart_most, line
FROM limited;

-- instances: container_resource
FROM (
    SELECT time_ms, instance_sn AS container, line, unnest([
        request_limit('cpu', cpu_request, cpu_limit, 'cores'),
        request_limit('memory', memory_request, memory_limit, 'bytes'),
        request_limit('gpu', gpu_request, gpu_limit, 'count'),
        request_limit('disk', disk_request, disk_limit, 'bytes'),
        -- of a network card 100 parts can be had: whole numbers, as a replay counts them
        request_limit('rdma', rdma_request, rdma_limit, 'count')], recursive := true)
    FROM limited
) WHERE request <> 0 OR "limit" <> 0;
