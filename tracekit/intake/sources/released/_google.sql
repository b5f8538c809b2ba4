-- attributes of machines as labels: both releases have the columns node, time_ms, name, value, line

-- machines: table stated
-- the last of several statements at one time counts
SELECT node, name, time_ms, last(value ORDER BY line) AS value
FROM named GROUP BY node, name, time_ms;

-- machines: view labelled
WITH wanted AS (
    SELECT DISTINCT events.node, events.time_ms, stated.name
    FROM events JOIN stated ON events.node = stated.node
),
held AS (
    SELECT wanted.*, stated.value
    FROM wanted ASOF JOIN stated ON wanted.node = stated.node AND wanted.name = stated.name
        AND wanted.time_ms >= stated.time_ms
),
labels AS (
    SELECT node, time_ms, '{' || string_agg(
        to_json(name)::VARCHAR || ': ' || to_json(value)::VARCHAR, ', ' ORDER BY name) || '}'
        AS labels
    FROM held WHERE value IS NOT NULL GROUP BY node, time_ms
)
SELECT events.*, CASE
    WHEN labels IS NULL AND last_value(labels IGNORE NULLS) OVER history IS NOT NULL THEN '{}'
    ELSE labels END AS labels
FROM events LEFT JOIN labels USING (node, time_ms)
WINDOW history AS (PARTITION BY node ORDER BY time_ms);
