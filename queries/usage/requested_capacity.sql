-- title: Requests against capacity, resource by resource
-- description: What all nodes have of each resource that containers request, and how much of it is
--   requested: the most at any one time by recorded arrivals and departures, and by all containers
--   together, as if none departed. Of a container the requests of its life count, each from the
--   time on when it was made; of a node its last size above 0. Nodes that are gone at the end are
--   left out, and so are requests of containers that no row lists, where some are listed.
-- reads: container_keyed, container_resource_keyed, node_keyed, node_resource_keyed
-- column: resource VARCHAR The resource.
-- column: unit VARCHAR The unit of its amounts.
-- column: nodes BIGINT Nodes that have some of it [nodes].
-- column: capacity DOUBLE What these have together [see unit].
-- column: containers BIGINT Containers that request some of it [containers].
-- column: requested_at_once DOUBLE The most that is requested at any time [see unit].
-- column: requested_in_all DOUBLE What all containers request, each at its last request [see unit].
-- column: at_once_share DOUBLE Requested at once / capacity [0..1].
-- column: in_all_share DOUBLE Requested in all / capacity [0..1].
-- order: resource, unit
-- run: duckdb catalog.duckdb -f queries/usage/requested_capacity.sql
WITH listed AS (
    SELECT count(*) AS containers FROM container_keyed
),

states AS (
    SELECT
        node_key,
        state,
        row_number() OVER (PARTITION BY node_key ORDER BY time_ms DESC) AS back
    FROM node_keyed
),

sizes AS (
    SELECT
        node_key,
        resource,
        unit,
        amount,
        row_number() OVER (PARTITION BY node_key, resource, unit ORDER BY time_ms DESC) AS back
    FROM node_resource_keyed
    WHERE cell IS NULL AND amount > 0
),

whole AS (
    SELECT
        sizes.resource,
        sizes.unit,
        count(*) AS nodes,
        sum(sizes.amount) AS capacity
    FROM sizes
    LEFT JOIN states ON sizes.node_key = states.node_key AND states.back = 1
    WHERE sizes.back = 1 AND coalesce(states.state, 'ready') <> 'gone'
    GROUP BY sizes.resource, sizes.unit
),

asked AS (
    SELECT
        container_key,
        resource,
        unit,
        request,
        time_ms,
        row_number() OVER (
            PARTITION BY container_key, resource, unit ORDER BY time_ms
        ) AS place,
        lead(time_ms) OVER (
            PARTITION BY container_key, resource, unit ORDER BY time_ms
        ) AS next_ms
    FROM container_resource_keyed
),

lives AS (
    SELECT
        asked.container_key,
        asked.resource,
        asked.unit,
        asked.request,
        asked.next_ms IS NULL AS is_last,
        CASE
            WHEN asked.place = 1 THEN coalesce(container_keyed.time_ms, asked.time_ms)
            ELSE asked.time_ms
        END AS from_ms,
        coalesce(asked.next_ms, container_keyed.departure_ms) AS until_ms
    FROM asked
    LEFT JOIN container_keyed ON asked.container_key = container_keyed.container_key
    WHERE
        asked.request > 0
        AND (
            container_keyed.container_key IS NOT NULL
            OR (SELECT listed.containers FROM listed) = 0
        )
),

changes AS (
    SELECT
        resource,
        unit,
        from_ms AS time_ms,
        request AS amount
    FROM lives
    UNION ALL
    SELECT
        resource,
        unit,
        until_ms AS time_ms,
        -request AS amount
    FROM lives
    WHERE until_ms IS NOT NULL
),

moments AS (
    SELECT
        resource,
        unit,
        time_ms,
        sum(amount) AS amount
    FROM changes
    GROUP BY resource, unit, time_ms
),

sums AS (
    SELECT
        resource,
        unit,
        sum(amount) OVER (PARTITION BY resource, unit ORDER BY time_ms) AS requested
    FROM moments
),

highest AS (
    SELECT
        resource,
        unit,
        max(requested) AS requested
    FROM sums
    GROUP BY resource, unit
),

totals AS (
    SELECT
        resource,
        unit,
        count(DISTINCT container_key) AS containers,
        sum(CASE WHEN is_last THEN request END) AS requested
    FROM lives
    GROUP BY resource, unit
)

SELECT
    whole.resource,
    whole.unit,
    whole.nodes,
    round(whole.capacity, 6) AS capacity,
    totals.containers,
    round(highest.requested, 6) AS requested_at_once,
    round(totals.requested, 6) AS requested_in_all,
    round(highest.requested / whole.capacity, 9) AS at_once_share,
    round(totals.requested / whole.capacity, 9) AS in_all_share
FROM whole
INNER JOIN totals ON whole.resource = totals.resource AND whole.unit = totals.unit
INNER JOIN highest ON whole.resource = highest.resource AND whole.unit = highest.unit
ORDER BY whole.resource, whole.unit;
