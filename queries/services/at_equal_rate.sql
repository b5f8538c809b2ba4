-- title: Containers of one service at the same rate of calls
-- description: How far CPU and response time of a container lie from those of its service, among
--   containers that answer the same rate of calls (patent CN116795487A: CPU of one service differs
--   by up to 20 %, and a higher CPU goes with a longer response). Calls are providerRPC_MCR, times
--   providerRPC_RT. Kept are containers whose rate is within rate_tolerance of the median of their
--   service, of services with min_containers of them.
-- reads: service_rate_keyed, container_usage_keyed, container_id, service_id
-- param: rate_tolerance DOUBLE How far a rate may lie from the median, of the median [0..1].
-- param: min_containers BIGINT A service with fewer containers says nothing [containers].
-- param: min_samples BIGINT A container with fewer samples of rate or CPU is left out [samples].
-- column: service VARCHAR The service.
-- column: container VARCHAR The container.
-- column: rate DOUBLE Calls per second that it answers, mean over time [1/s].
-- column: cpu_mean DOUBLE Mean CPU in use / CPU it may use [0..1].
-- column: cpu_apart DOUBLE That over the mean of its service's containers, less 1 [ratio].
-- column: response_mean_ms DOUBLE Mean response time [ms].
-- column: response_apart DOUBLE That over the mean of its service's containers, less 1 [ratio].
-- order: service, container
-- run: duckdb catalog.duckdb -f queries/services/at_equal_rate.sql
WITH rates AS (
    SELECT
        service_key,
        container_key,
        avg(CASE WHEN metric = 'providerRPC_MCR' THEN value END) AS rate,
        avg(CASE WHEN metric = 'providerRPC_RT' THEN value END) AS response_mean_ms,
        count(CASE WHEN metric = 'providerRPC_MCR' THEN value END) AS samples
    FROM service_rate_keyed
    GROUP BY service_key, container_key
),

used AS (
    SELECT
        container_key,
        avg(cpu_fraction) AS cpu_mean,
        count(*) AS samples
    FROM container_usage_keyed
    GROUP BY container_key
),

joined AS (
    SELECT
        rates.service_key,
        rates.container_key,
        rates.rate,
        rates.response_mean_ms,
        used.cpu_mean
    FROM rates
    INNER JOIN used ON rates.container_key = used.container_key
    WHERE
        rates.rate > 0
        AND used.cpu_mean > 0
        AND rates.samples >= coalesce(getvariable('min_samples')::BIGINT, 10)
        AND used.samples >= coalesce(getvariable('min_samples')::BIGINT, 10)
),

medians AS (
    SELECT
        service_key,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY rate) AS rate
    FROM joined
    GROUP BY service_key
),

alike AS (
    SELECT joined.*
    FROM joined
    INNER JOIN medians ON joined.service_key = medians.service_key
    WHERE
        abs(joined.rate - medians.rate)
        <= coalesce(getvariable('rate_tolerance')::DOUBLE, 0.05) * medians.rate
),

kept AS (
    SELECT
        service_key,
        avg(cpu_mean) AS cpu_mean,
        avg(response_mean_ms) AS response_mean_ms
    FROM alike
    GROUP BY service_key
    HAVING count(*) >= coalesce(getvariable('min_containers')::BIGINT, 5)
)

SELECT
    service_id.service,
    container_id.container,
    round(alike.rate, 9) AS rate,
    round(alike.cpu_mean, 12) AS cpu_mean,
    round(alike.cpu_mean / kept.cpu_mean - 1, 12) AS cpu_apart,
    round(alike.response_mean_ms, 9) AS response_mean_ms,
    CASE
        WHEN kept.response_mean_ms > 0
            THEN round(alike.response_mean_ms / kept.response_mean_ms - 1, 12)
    END AS response_apart
FROM alike
INNER JOIN kept ON alike.service_key = kept.service_key
INNER JOIN service_id ON alike.service_key = service_id.service_key
INNER JOIN container_id ON alike.container_key = container_id.container_key
ORDER BY service_id.service, container_id.container;
