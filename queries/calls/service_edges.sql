-- title: Which service calls which
-- description: Calls between services as the trace records them. Each end of a remote call (rpc,
--   http, mq) leaves a record; the two are counted as one call where they name the same services.
--   With c records of calling ends (response time > 0), d of called ends (< 0) and z in all under
--   one rpc id, that is max(c, d, ceil(z / 2)) calls. Response times are what the calling end
--   waited, else what the called end worked, the longest per rpc id. A service whose name is
--   missing is NULL; tracekit callgraph mends such names and gives the same table.
-- reads: call_keyed, service_id
-- column: upstream VARCHAR The service that calls.
-- column: downstream VARCHAR The service that is called.
-- column: rpc_type VARCHAR rpc, http, mq, mc (memcached), db or userDefined.
-- column: calls BIGINT Calls [calls].
-- column: traces BIGINT Traces with such a call [traces].
-- column: response_time_p50_ms DOUBLE Median response time [ms].
-- column: response_time_p95_ms DOUBLE 95th percentile of the response time [ms].
-- column: response_time_max_ms DOUBLE Longest response time [ms].
-- order: upstream, downstream, rpc_type
-- run: duckdb catalog.duckdb -f queries/calls/service_edges.sql
WITH per_rpc_id AS (
    SELECT
        trace_key,
        rpc_id,
        upstream_key,
        downstream_key,
        rpc_type,
        CASE
            WHEN rpc_type IN ('rpc', 'http', 'mq')
                THEN greatest(
                    count(CASE WHEN response_time_ms > 0 THEN 1 END),
                    count(CASE WHEN response_time_ms < 0 THEN 1 END),
                    cast(ceil(count(*) / 2.0) AS BIGINT)
                )
            ELSE count(*)
        END AS calls,
        coalesce(
            max(CASE WHEN response_time_ms > 0 THEN response_time_ms END),
            max(abs(response_time_ms))
        ) AS response_time_ms
    FROM call_keyed
    GROUP BY trace_key, rpc_id, upstream_key, downstream_key, rpc_type
),

edges AS (
    SELECT
        upstream_key,
        downstream_key,
        rpc_type,
        cast(sum(calls) AS BIGINT) AS calls,
        count(DISTINCT trace_key) AS traces,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY response_time_ms) AS response_time_p50_ms,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY response_time_ms) AS response_time_p95_ms,
        max(response_time_ms) AS response_time_max_ms
    FROM per_rpc_id
    GROUP BY upstream_key, downstream_key, rpc_type
)

SELECT
    callers.service AS upstream,
    callees.service AS downstream,
    edges.rpc_type,
    edges.calls,
    edges.traces,
    round(edges.response_time_p50_ms, 12) AS response_time_p50_ms,
    round(edges.response_time_p95_ms, 12) AS response_time_p95_ms,
    edges.response_time_max_ms
FROM edges
LEFT JOIN service_id AS callers ON edges.upstream_key = callers.service_key
LEFT JOIN service_id AS callees ON edges.downstream_key = callees.service_key
ORDER BY
    callers.service NULLS LAST,
    callees.service NULLS LAST,
    edges.rpc_type NULLS LAST;
