-- vm: view samples
SELECT *, regexp_replace(getvariable('file'), '\.csv$', '') AS container,
    -- times are seconds though the header says ms; later ones than the year 5138 are ms
    trunc(CASE WHEN time <= 1e11 THEN time * 1000 ELSE time END)::BIGINT AS time_ms
FROM vm;

-- vm: container_amount
SELECT time_ms, container, line, unnest([
    size('cpu', CASE WHEN provisioned_mhz > 0 THEN used_mhz / provisioned_mhz * cores ELSE used_mhz * 0 END, 'cores'),
    size('memory', used_kb, 'bytes'), size('disk_io', read_kb + write_kb, 'bytes/s'),
    size('net_in', received_kb, 'bytes/s'), size('net_out', sent_kb, 'bytes/s')], recursive := true)
FROM samples;

-- vm: container_resource
SELECT time_ms, container, line, unnest([
    request('cpu', cores, 'cores'), request('memory', provisioned_kb, 'bytes')], recursive := true)
FROM (
    FROM samples
    QUALIFY (cores, provisioned_kb) IS DISTINCT FROM lag((cores, provisioned_kb)) OVER (ORDER BY line)
);

-- vm: container
SELECT min(time_ms) AS time_ms, any_value(container) AS container,
    max(time_ms) + 300000 AS departure_ms, min(line) AS line
FROM samples HAVING count(*) > 0;
