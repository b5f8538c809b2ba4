-- title: The services that are called most
-- description: Calls to each service, its upstreams, and the calls it makes. Calls are counted as
--   in calls/service_edges; those of unknown services come under NULL.
-- reads: calls_service_edges
-- column: service VARCHAR The service.
-- column: calls BIGINT Calls to it [calls].
-- column: call_share DOUBLE Share of all calls [0..1].
-- column: upstreams BIGINT Known services that call it [services].
-- column: calls_made BIGINT Calls it makes [calls].
-- column: downstreams BIGINT Known services it calls [services].
-- column: rank BIGINT Place by calls to it, from 1 [place].
-- order: rank
-- run: duckdb catalog.duckdb -f queries/calls/hot_services.sql
WITH ends AS (
    SELECT
        downstream AS service,
        calls,
        upstream AS caller,
        0 AS calls_made,
        cast(NULL AS STRING) AS callee
    FROM calls_service_edges
    UNION ALL
    SELECT
        upstream AS service,
        0 AS calls,
        cast(NULL AS STRING) AS caller,
        calls AS calls_made,
        downstream AS callee
    FROM calls_service_edges
),

summed AS (
    SELECT
        service,
        cast(sum(calls) AS BIGINT) AS calls,
        count(DISTINCT caller) AS upstreams,
        cast(sum(calls_made) AS BIGINT) AS calls_made,
        count(DISTINCT callee) AS downstreams
    FROM ends
    GROUP BY service
)

SELECT
    service,
    calls,
    round(cast(calls AS DOUBLE) / sum(calls) OVER (), 12) AS call_share,
    upstreams,
    calls_made,
    downstreams,
    cast(row_number() OVER (ORDER BY calls DESC, service ASC NULLS LAST) AS BIGINT) AS rank
FROM summed
ORDER BY rank;
