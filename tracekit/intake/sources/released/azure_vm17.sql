-- vms: container
-- VMs that still run are stated as deleted with the last reading, of 2017 or of 2019
SELECT created AS time_ms, vm AS container, deployment AS service, line - 1 AS position,
    CASE WHEN deleted < 2591400000 THEN greatest(deleted, created + 300000) END AS departure_ms,
    line
FROM vms;

-- vms: container_resource
SELECT created AS time_ms, vm AS container, line, unnest([
    request('cpu', bucket(cores, '>24', 30), 'cores'),
    request('memory', bucket(memory, '>64', 70) * 1073741824, 'bytes')], recursive := true)
FROM vms;

-- readings: table sizes
SELECT DISTINCT ON (vm) vm, bucket(cores, '>24', 30) AS vcpus
FROM vms
WHERE bucket(cores, '>24', 30) > 0 AND bucket(memory, '>64', 70) > 0 AND deleted >= created;

-- readings: container_amount
SELECT time AS time_ms, vm AS container, 'cpu' AS resource, average * vcpus AS amount,
    'cores' AS unit, line
FROM readings JOIN sizes USING (vm);

-- readings: refused
SELECT line, 'vm' AS "column", vm AS value, 'a VM of vmtable' AS expected
FROM readings ANTI JOIN sizes USING (vm);
