-- title: What the containers of each service request, use and leave unused
-- description: Cores and GiB, as means over the sampling times of the trace, summed over the
--   containers of the service: a container counts while it has samples, so one that ran for half
--   of the trace counts half. Unused is what is requested less what is used; it is below 0 where
--   more is used. Containers without a request reserve nothing and are not in it, nor are those
--   that no row lists, where some are listed. Use is the recorded amount where there is one, else
--   the recorded fraction of the request.
-- reads: container_resource_keyed, container_amount_keyed, container_usage_keyed, container_keyed,
--   service_id
-- column: service VARCHAR The service.
-- column: containers BIGINT Containers with a request and with use [containers].
-- column: cpu_requested_cores DOUBLE CPU requested [cores].
-- column: cpu_used_cores DOUBLE CPU used by those that request some [cores].
-- column: cpu_unused_cores DOUBLE CPU requested less used [cores].
-- column: memory_requested_gib DOUBLE Memory requested [GiB].
-- column: memory_used_gib DOUBLE Memory used by those that request some [GiB].
-- column: memory_unused_gib DOUBLE Memory requested less used [GiB].
-- order: service
-- run: duckdb catalog.duckdb -f queries/services/requests.sql
WITH listed AS (
    SELECT DISTINCT container_key FROM container_keyed
),

asked AS (
    SELECT
        container_key,
        resource,
        request,
        CASE
            WHEN row_number() OVER changes > 1 THEN time_ms
        END AS from_ms,
        lead(time_ms) OVER changes AS until_ms
    FROM container_resource_keyed
    WHERE (resource = 'cpu' AND unit = 'cores') OR (resource = 'memory' AND unit = 'bytes')
    WINDOW changes AS (PARTITION BY container_key, resource ORDER BY time_ms)
),

amounts AS (
    -- files that overlap in time hold a sample twice
    SELECT
        container_key,
        resource,
        time_ms,
        avg(amount) AS amount
    FROM container_amount_keyed
    WHERE (resource = 'cpu' AND unit = 'cores') OR (resource = 'memory' AND unit = 'bytes')
    GROUP BY container_key, resource, time_ms
),

measured AS (
    SELECT DISTINCT
        container_key,
        resource
    FROM amounts
),

shares AS (
    SELECT
        container_key,
        'cpu' AS resource,
        time_ms,
        cpu_fraction AS share
    FROM container_usage_keyed
    WHERE cpu_fraction IS NOT NULL
    UNION ALL
    SELECT
        container_key,
        'memory' AS resource,
        time_ms,
        memory_fraction AS share
    FROM container_usage_keyed
    WHERE memory_fraction IS NOT NULL
),

samples AS (
    SELECT
        container_key,
        resource,
        time_ms,
        amount,
        NULL AS share
    FROM amounts
    UNION ALL
    SELECT
        shares.container_key,
        shares.resource,
        shares.time_ms,
        NULL AS amount,
        shares.share
    FROM shares
    LEFT JOIN measured
        ON shares.container_key = measured.container_key AND shares.resource = measured.resource
    WHERE measured.container_key IS NULL
),

steps AS (
    SELECT
        resource,
        count(DISTINCT time_ms) AS steps
    FROM samples
    GROUP BY resource
),

of_container AS (
    SELECT
        samples.container_key,
        samples.resource,
        sum(asked.request) AS requested,
        sum(coalesce(samples.amount, samples.share * asked.request)) AS used
    FROM samples
    INNER JOIN asked
        ON
            samples.container_key = asked.container_key
            AND samples.resource = asked.resource
            AND samples.time_ms >= coalesce(asked.from_ms, samples.time_ms)
            AND samples.time_ms < coalesce(asked.until_ms, samples.time_ms + 1)
    WHERE
        asked.request > 0
        AND (
            samples.container_key IN (SELECT listed.container_key FROM listed)
            OR (SELECT count(*) FROM listed) = 0
        )
    GROUP BY samples.container_key, samples.resource
),

belongs AS (
    SELECT
        container_key,
        min(service_key) AS service_key
    FROM (
        SELECT
            container_key,
            service_key
        FROM container_keyed
        UNION ALL
        SELECT
            container_key,
            service_key
        FROM container_usage_keyed
    ) AS named
    GROUP BY container_key
),

of_service AS (
    SELECT
        belongs.service_key,
        count(DISTINCT of_container.container_key) AS containers,
        sum(CASE WHEN of_container.resource = 'cpu' THEN of_container.requested / steps.steps END)
            AS cpu_requested,
        sum(CASE WHEN of_container.resource = 'cpu' THEN of_container.used / steps.steps END)
            AS cpu_used,
        sum(
            CASE WHEN of_container.resource = 'memory' THEN of_container.requested / steps.steps END
        )
        / 1073741824.0 AS memory_requested,
        sum(CASE WHEN of_container.resource = 'memory' THEN of_container.used / steps.steps END)
        / 1073741824.0 AS memory_used
    FROM of_container
    INNER JOIN steps ON of_container.resource = steps.resource
    INNER JOIN belongs ON of_container.container_key = belongs.container_key
    GROUP BY belongs.service_key
)

SELECT
    service_id.service,
    of_service.containers,
    round(of_service.cpu_requested, 9) AS cpu_requested_cores,
    round(of_service.cpu_used, 9) AS cpu_used_cores,
    round(of_service.cpu_requested - of_service.cpu_used, 9) AS cpu_unused_cores,
    round(of_service.memory_requested, 9) AS memory_requested_gib,
    round(of_service.memory_used, 9) AS memory_used_gib,
    round(of_service.memory_requested - of_service.memory_used, 9) AS memory_unused_gib
FROM of_service
INNER JOIN service_id ON of_service.service_key = service_id.service_key
ORDER BY service_id.service;
