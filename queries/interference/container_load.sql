-- title: Calls that each container answers
-- description: Mean call rate of a container in a window of time. The calls are those of the first
--   of providerRPC_MCR, HTTP_MCR, consumerMQ_MCR and consumerRPC_MCR that its service reports.
-- reads: service_rate_keyed, container_id
-- param: window_ms BIGINT Length of a window; longer than the trace: one window [ms].
-- column: container VARCHAR The container.
-- column: window_start_ms BIGINT Start of the window [ms].
-- column: samples BIGINT Minutes with a value [samples].
-- column: rate_mean DOUBLE Mean over those minutes of the calls [1/s].
-- order: container, window_start_ms
-- run: duckdb catalog.duckdb -f queries/interference/container_load.sql
WITH ranked AS (
    SELECT
        service_key,
        container_key,
        value,
        time_ms
        - time_ms % coalesce(getvariable('window_ms')::BIGINT, 1000000000000) AS window_start_ms,
        CASE metric
            WHEN 'providerRPC_MCR' THEN 1
            WHEN 'HTTP_MCR' THEN 2
            WHEN 'consumerMQ_MCR' THEN 3
            ELSE 4
        END AS place
    FROM service_rate_keyed
    WHERE metric IN ('providerRPC_MCR', 'HTTP_MCR', 'consumerMQ_MCR', 'consumerRPC_MCR')
),

choices AS (
    SELECT
        service_key,
        min(place) AS place
    FROM ranked
    GROUP BY service_key
),

rates AS (
    SELECT
        ranked.container_key,
        ranked.window_start_ms,
        count(*) AS samples,
        avg(ranked.value) AS rate
    FROM ranked
    INNER JOIN choices
        ON ranked.service_key = choices.service_key AND ranked.place = choices.place
    GROUP BY ranked.container_key, ranked.window_start_ms
)

SELECT
    container_id.container,
    rates.window_start_ms,
    rates.samples,
    round(rates.rate, 9) AS rate_mean
FROM rates
INNER JOIN container_id ON rates.container_key = container_id.container_key
ORDER BY container_id.container, rates.window_start_ms;
