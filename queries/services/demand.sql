-- title: Load of each service and what a call costs
-- description: Calls per second that a container of each service answers, and the regression of its
--   CPU on them. Both are averaged over the service's containers minute by minute, so a sample
--   at t belongs to the minute that ends at or after t, as rates do. The calls are those of
--   the first of providerRPC_MCR, HTTP_MCR, consumerMQ_MCR and consumerRPC_MCR that the service
--   reports. HTTP and consumerMQ rates are doubtful in CTM21: their response times repeat them.
-- reads: service_rate_keyed, container_usage_keyed, service_id
-- param: min_minutes BIGINT Fewer minutes than this give no regression [minutes].
-- column: service VARCHAR The service.
-- column: metric VARCHAR What its calls are counted by.
-- column: rate_containers BIGINT Containers that report calls, the most in any minute [containers].
-- column: rate_mean DOUBLE Mean over minutes of the whole service's calls [1/s].
-- column: rate_max DOUBLE Calls in the busiest minute, over the whole service [1/s].
-- column: container_rate_mean DOUBLE Mean over minutes of the calls per container [1/s].
-- column: minutes BIGINT Minutes with both calls and CPU [minutes].
-- column: cpu_per_call DOUBLE Slope: CPU fraction of a container per call/s it answers [s].
-- column: cpu_idle DOUBLE Intercept: CPU fraction of a container without calls [0..1].
-- column: r_squared DOUBLE Share of the variance of CPU over minutes explained by calls [0..1].
-- order: service
-- run: duckdb catalog.duckdb -f queries/services/demand.sql
WITH ranked AS (
    SELECT
        service_key,
        time_ms,
        value,
        CASE metric
            WHEN 'providerRPC_MCR' THEN 1
            WHEN 'HTTP_MCR' THEN 2
            WHEN 'consumerMQ_MCR' THEN 3
            WHEN 'consumerRPC_MCR' THEN 4
        END AS place
    FROM service_rate_keyed
),

rates AS (
    SELECT
        service_key,
        place,
        time_ms,
        sum(value) AS rate,
        count(*) AS containers
    FROM ranked
    WHERE place IS NOT NULL
    GROUP BY service_key, place, time_ms
),

choices AS (
    SELECT
        service_key,
        min(place) AS place
    FROM rates
    GROUP BY service_key
),

minutes AS (
    SELECT
        service_key,
        time_ms + (60000 - time_ms % 60000) % 60000 AS time_ms,
        avg(cpu_fraction) AS cpu
    FROM container_usage_keyed
    GROUP BY service_key, time_ms + (60000 - time_ms % 60000) % 60000
),

joined AS (
    SELECT
        rates.service_key,
        CASE rates.place
            WHEN 1 THEN 'providerRPC_MCR'
            WHEN 2 THEN 'HTTP_MCR'
            WHEN 3 THEN 'consumerMQ_MCR'
            ELSE 'consumerRPC_MCR'
        END AS metric,
        rates.containers,
        rates.rate,
        rates.rate / rates.containers AS container_rate,
        minutes.cpu
    FROM rates
    INNER JOIN choices
        ON
            rates.service_key = choices.service_key
            AND rates.place = choices.place
    LEFT JOIN minutes
        ON rates.service_key = minutes.service_key AND rates.time_ms = minutes.time_ms
),

fitted AS (
    SELECT
        service_key,
        metric,
        max(containers) AS rate_containers,
        avg(rate) AS rate_mean,
        max(rate) AS rate_max,
        avg(container_rate) AS container_rate_mean,
        count(cpu) AS minutes,
        count(cpu) >= coalesce(getvariable('min_minutes')::BIGINT, 10)
        AND var_pop(cpu) > 1e-18
        AND var_pop(container_rate) FILTER (WHERE cpu IS NOT NULL) > 1e-18 AS usable,
        regr_slope(cpu, container_rate) AS cpu_per_call,
        regr_intercept(cpu, container_rate) AS cpu_idle,
        regr_r2(cpu, container_rate) AS r_squared
    FROM joined
    GROUP BY service_key, metric
)

SELECT
    service_id.service,
    fitted.metric,
    fitted.rate_containers,
    round(fitted.rate_mean, 9) AS rate_mean,
    round(fitted.rate_max, 9) AS rate_max,
    round(fitted.container_rate_mean, 9) AS container_rate_mean,
    fitted.minutes,
    CASE WHEN fitted.usable THEN round(fitted.cpu_per_call, 12) END AS cpu_per_call,
    CASE WHEN fitted.usable THEN round(fitted.cpu_idle, 12) END AS cpu_idle,
    CASE WHEN fitted.usable THEN round(fitted.r_squared, 12) END AS r_squared
FROM fitted
INNER JOIN service_id ON fitted.service_key = service_id.service_key
ORDER BY service_id.service;
