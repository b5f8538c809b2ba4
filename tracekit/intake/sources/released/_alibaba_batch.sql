-- instances: container
SELECT greatest(start, 0) AS time_ms, container, job AS service, node, line AS position,
    CASE WHEN status <> 'Running' THEN greatest("end", 0) END AS departure_ms, selector, line
FROM named;

-- instances: container_resource
SELECT greatest(start, 0) AS time_ms, container, line, unnest(requests, recursive := true)
FROM named JOIN task_requests USING (job, task);

-- tasks: view each
SELECT *, job || '/' || task || '/' || unnest(range(instances::BIGINT)) AS container
FROM batch WHERE getvariable('instances') = 0;

-- tasks: container
SELECT greatest(start, 0) AS time_ms, container, job AS service, line AS position,
    CASE WHEN status <> 'Running' THEN greatest("end", 0) END AS departure_ms, line
FROM each;

-- tasks: container_resource
SELECT greatest(start, 0) AS time_ms, container, line, unnest(requests, recursive := true)
FROM each;

-- tasks: table instanced
SELECT DISTINCT job, task FROM instances;

-- tasks: refused
SELECT line, 'task' AS "column", task AS value,
    'a task of which an instance stands in the files beside' AS expected
FROM tasks
WHERE EXISTS (FROM instanced) AND NOT EXISTS (
    FROM instanced AS one
    WHERE one.job IS NOT DISTINCT FROM tasks.job AND one.task IS NOT DISTINCT FROM tasks.task
);
