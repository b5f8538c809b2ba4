-- title: How much of a service's calls each upstream makes
-- description: For every service that is called, the share of its calls that each direct upstream
--   makes: theta of Yao et al., C.S.A. 2023 32(4), section 3. Calls whose upstream or downstream is
--   unknown do not count, so the weights of a service add up to 1.
-- reads: calls_service_edges
-- column: downstream VARCHAR The service that is called.
-- column: upstream VARCHAR A service that calls it.
-- column: calls BIGINT Calls of any type from upstream to downstream [calls].
-- column: weight DOUBLE Those calls / all calls to downstream of a known upstream [0..1].
-- order: downstream, upstream
-- run: duckdb catalog.duckdb -f queries/calls/upstream_weights.sql
WITH pairs AS (
    SELECT
        downstream,
        upstream,
        cast(sum(calls) AS BIGINT) AS calls
    FROM calls_service_edges
    WHERE upstream IS NOT NULL AND downstream IS NOT NULL
    GROUP BY downstream, upstream
)

SELECT
    downstream,
    upstream,
    calls,
    round(cast(calls AS DOUBLE) / sum(calls) OVER (PARTITION BY downstream), 12) AS weight
FROM pairs
ORDER BY downstream, upstream;
