-- arrivals: table sizes
SELECT flavour, size, TRY_CAST(split_part(size, ',', 1) AS DOUBLE) AS cores,
    TRY_CAST(split_part(size, ',', 2) AS DOUBLE) * 1073741824 AS memory
FROM flavours;

-- arrivals: table lengths
-- a duration is the middle of its bin, and one step at least
SELECT bin, greatest((min(seconds) + max(seconds)) * 500, 300000)::BIGINT AS ms
FROM intervals GROUP BY bin;

-- arrivals: table partner
SELECT time, listed(words) AS ends FROM durations
WHERE split_of(file) = split_of(getvariable('file'))
QUALIFY line = min(line) OVER (PARTITION BY time);

-- arrivals: stopped
SELECT 'no v1.interval_map.txt beside it, which says how long the bins are' AS what,
    'put resources/maps/v1.interval_map.txt into the same folder' AS hint
WHERE EXISTS (FROM partner) AND NOT EXISTS (FROM lengths)
UNION ALL
SELECT 'flav_map.txt has ''' || size || ''', expected cores and GB, as in 1,1.75', 'fetch it again'
FROM sizes WHERE cores IS NULL OR memory IS NULL;

-- arrivals: view judged
SELECT arrivals.*, listed(words) AS flavours, ends, CASE
    WHEN line > min(line) OVER (PARTITION BY arrivals.time)
        THEN {'column': 'time', 'value': arrivals.time, 'expected': 'a time of no bin before'}
    WHEN NOT list_has_all((SELECT list(flavour) FROM sizes) || ['|'], flavours)
        THEN {'column': 'words', 'value': words, 'expected': 'flavours of flav_map'}
    WHEN NOT EXISTS (FROM partner) THEN NULL
    WHEN ends IS NULL
        THEN {'column': 'time', 'value': arrivals.time, 'expected': 'a time of a bin of durations'}
    WHEN list_transform(flavours, lambda one: one = '|')
        <> list_transform(ends, lambda one: one = '|')
        THEN {'column': 'words', 'value': words, 'expected': 'the batches that durations have'}
    WHEN NOT list_has_all(
        (SELECT list('U' || bin) || list('C' || bin) FROM lengths) || ['|'], ends)
        THEN {'column': 'words', 'value': array_to_string(ends, ','),
            'expected': 'durations of U or C and a bin of interval_map'} END AS fault
FROM arrivals LEFT JOIN partner ON arrivals.time = partner.time;

-- arrivals: refused
SELECT line, text, unnest(fault) FROM judged WHERE fault IS NOT NULL;

-- arrivals: view vms
WITH words AS (
    SELECT line, time::BIGINT * 1000 AS time_ms, unnest(flavours) AS flavour,
        unnest(coalesce(ends, list_transform(flavours, lambda one: NULL))) AS ends,
        unnest(range(len(flavours))) AS place
    FROM judged WHERE fault IS NULL
),
numbered AS (
    SELECT *, count(*) FILTER (flavour = '|') OVER history AS batch,
        count(*) FILTER (flavour <> '|') OVER history - 1 AS position
    FROM words WINDOW history AS (ORDER BY line, place)
)
SELECT numbered.*, split_of(getvariable('file')) || '/' || position AS container, cores, memory,
    time_ms + CASE WHEN ends LIKE 'U%' THEN ms END AS departure_ms
FROM numbered JOIN sizes USING (flavour) LEFT JOIN lengths ON bin = substr(ends, 2)
WHERE flavour <> '|';

-- arrivals: container
SELECT time_ms, container, split_of(getvariable('file')) || '/batch-' || batch AS service,
    departure_ms, position, line
FROM vms;

-- arrivals: container_resource
SELECT time_ms, container, line, unnest([
    request('cpu', cores, 'cores'), request('memory', memory, 'bytes')], recursive := true)
FROM vms;

-- durations: refused
SELECT line, 'time' AS "column", time AS value, 'a time of no bin before' AS expected, text
FROM durations QUALIFY line > min(line) OVER (PARTITION BY time);
