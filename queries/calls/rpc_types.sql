-- title: Records of calls by type
-- description: How many records each type of call left, by which end, and how many of them lack a
--   name. The response time is positive when the calling end recorded it, negative when the called
--   end did; at 0 it is not known which.
-- reads: call_keyed
-- column: rpc_type VARCHAR rpc, http, mq, mc (memcached), db or userDefined.
-- column: records BIGINT Records [records].
-- column: record_share DOUBLE Share of all records [0..1].
-- column: calling_end BIGINT Recorded by the calling end [records].
-- column: called_end BIGINT Recorded by the called end [records].
-- column: upstream_missing_share DOUBLE Records without an upstream / records [0..1].
-- column: downstream_missing_share DOUBLE Records without a downstream / records [0..1].
-- column: response_time_p50_ms DOUBLE Median response time, whoever recorded it [ms].
-- column: response_time_p95_ms DOUBLE 95th percentile of the response time [ms].
-- order: rpc_type
-- run: duckdb catalog.duckdb -f queries/calls/rpc_types.sql
WITH per_type AS (
    SELECT
        rpc_type,
        count(*) AS records,
        count(CASE WHEN response_time_ms > 0 THEN 1 END) AS calling_end,
        count(CASE WHEN response_time_ms < 0 THEN 1 END) AS called_end,
        cast(count(*) - count(upstream_key) AS DOUBLE) AS upstream_missing,
        cast(count(*) - count(downstream_key) AS DOUBLE) AS downstream_missing,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(response_time_ms)) AS p50_ms,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY abs(response_time_ms)) AS p95_ms
    FROM call_keyed
    GROUP BY rpc_type
)

SELECT
    rpc_type,
    records,
    round(cast(records AS DOUBLE) / sum(records) OVER (), 12) AS record_share,
    calling_end,
    called_end,
    round(upstream_missing / records, 12) AS upstream_missing_share,
    round(downstream_missing / records, 12) AS downstream_missing_share,
    round(p50_ms, 12) AS response_time_p50_ms,
    round(p95_ms, 12) AS response_time_p95_ms
FROM per_type
ORDER BY rpc_type NULLS LAST;
