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
WITH times AS (
    SELECT
        rpc_type,
        abs(response_time_ms) AS ms,
        count(*) AS records,
        count(CASE WHEN response_time_ms > 0 THEN 1 END) AS calling_end,
        count(CASE WHEN response_time_ms < 0 THEN 1 END) AS called_end,
        count(upstream_key) AS upstream_there,
        count(downstream_key) AS downstream_there
    FROM call_keyed
    GROUP BY rpc_type, abs(response_time_ms)
),

-- quantiles are read off how many records took up to each time: there are few different times, and
-- many hundred millions of records
reached AS (
    SELECT
        *,
        sum(records) OVER (PARTITION BY rpc_type ORDER BY ms ASC NULLS LAST) AS upto,
        sum(CASE WHEN ms IS NULL THEN 0 ELSE records END) OVER (PARTITION BY rpc_type) - 1 AS last
    FROM times
),

per_type AS (
    SELECT
        rpc_type,
        cast(sum(records) AS BIGINT) AS records,
        cast(sum(calling_end) AS BIGINT) AS calling_end,
        cast(sum(called_end) AS BIGINT) AS called_end,
        cast(sum(records) - sum(upstream_there) AS DOUBLE) AS upstream_missing,
        cast(sum(records) - sum(downstream_there) AS DOUBLE) AS downstream_missing,
        0.5 * max(last) - floor(0.5 * max(last)) AS p50_between,
        0.95 * max(last) - floor(0.95 * max(last)) AS p95_between,
        min(CASE WHEN upto > floor(0.5 * last) THEN ms END) AS p50_below,
        min(CASE WHEN upto > ceil(0.5 * last) THEN ms END) AS p50_above,
        min(CASE WHEN upto > floor(0.95 * last) THEN ms END) AS p95_below,
        min(CASE WHEN upto > ceil(0.95 * last) THEN ms END) AS p95_above
    FROM reached
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
    round(cast(p50_below + (p50_above - p50_below) * p50_between AS DOUBLE), 12)
        AS response_time_p50_ms,
    round(cast(p95_below + (p95_above - p95_below) * p95_between AS DOUBLE), 12)
        AS response_time_p95_ms
FROM per_type
ORDER BY rpc_type NULLS LAST;
