-- machines: node
SELECT 0 AS time_ms, node, line AS position, 'ready' AS state, line FROM machines;

-- machines: node_resource
SELECT 0 AS time_ms, node, line, unnest([
    size('cpu', cpu, 'cores'), size('memory', memory, 'bytes'), size('disk', disk, 'bytes'),
    size('p', p, 'count'), size('m', m, 'count'), size('pm', pm, 'count')], recursive := true)
FROM machines;

-- instances: view judged
SELECT *, CASE
    WHEN getvariable('apps') > 0 AND app NOT IN (SELECT app FROM apps WHERE app IS NOT NULL)
        THEN {'column': 'app', 'value': app, 'expected': 'an application of app_resources'}
    WHEN getvariable('machines') > 0
        AND node NOT IN (SELECT node FROM machines WHERE node IS NOT NULL)
        THEN {'column': 'node', 'value': node, 'expected': 'a machine of machine_resources'}
    END AS fault
FROM instances;

-- instances: refused
SELECT line, text, unnest(fault) FROM judged WHERE fault IS NOT NULL;

-- instances: container
SELECT 0 AS time_ms, container, app AS service, node, line AS position, line
FROM judged WHERE fault IS NULL;

-- apps: view curves
SELECT *, line > min(line) OVER (PARTITION BY app) AS again,
    list_transform(string_split(cpu, '|'), lambda one: TRY_CAST(one AS DOUBLE)) AS cpus,
    list_transform(string_split(memory, '|'), lambda one: TRY_CAST(one AS DOUBLE)) AS memories
FROM apps;

-- apps: view judged
WITH usual AS (
    SELECT len(cpus) AS points FROM curves GROUP BY len(cpus) ORDER BY count(*) DESC, points LIMIT 1
)
SELECT curves.*, CASE
    WHEN again THEN {'column': 'app', 'value': app, 'expected': 'every application once'}
    WHEN len(cpus) <> points
        THEN {'column': 'cpu', 'value': cpu, 'expected': points || ' points, as most have'}
    WHEN len(list_filter(cpus, lambda one: one >= 0 AND isfinite(one))) <> points
        THEN {'column': 'cpu', 'value': cpu, 'expected': 'numbers of 0 or more'}
    WHEN len(memories) <> points
        THEN {'column': 'memory', 'value': memory, 'expected': points || ' points, as most have'}
    WHEN len(list_filter(memories, lambda one: one >= 0 AND isfinite(one))) <> points
        THEN {'column': 'memory', 'value': memory, 'expected': 'numbers of 0 or more'} END AS fault
FROM curves, usual;

-- apps: refused
SELECT line, text, unnest(fault) FROM judged WHERE fault IS NOT NULL;

-- apps: view deployed
SELECT instances.container, judged.* EXCLUDE (fault)
FROM instances JOIN (FROM judged WHERE fault IS NULL) AS judged ON instances.app = judged.app;

-- apps: container_resource
SELECT 0 AS time_ms, container, line, unnest([
    request('cpu', list_max(cpus), 'cores'),
    request('memory', list_max(memories) * 1073741824, 'bytes'),
    request('disk', disk, 'bytes'), request('p', p, 'count'), request('m', m, 'count'),
    request('pm', pm, 'count')], recursive := true)
FROM deployed;

-- apps: container_amount
-- 98 points are taken for a day
SELECT point * 900000 AS time_ms, container, line, unnest([
    size('cpu', cpu, 'cores'), size('memory', memory * 1073741824, 'bytes')], recursive := true)
FROM (
    SELECT container, line, unnest(range(len(cpus))) AS point, unnest(cpus) AS cpu,
        unnest(memories) AS memory
    FROM deployed
);

-- rules: view judged
SELECT *, CASE
    WHEN getvariable('apps') > 0 AND holder NOT IN (SELECT app FROM apps WHERE app IS NOT NULL)
        THEN {'column': 'holder', 'value': holder, 'expected': 'an application of app_resources'}
    WHEN getvariable('apps') > 0 AND guest NOT IN (SELECT app FROM apps WHERE app IS NOT NULL)
        THEN {'column': 'guest', 'value': guest, 'expected': 'an application of app_resources'}
    END AS fault
FROM rules;

-- rules: refused
SELECT line, text, unnest(fault) FROM judged WHERE fault IS NOT NULL;

-- rules: sharing_rule
SELECT 0 AS time_ms, holder, guest, most, line FROM judged WHERE fault IS NULL;
