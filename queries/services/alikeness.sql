-- title: How alike the containers of one service are
-- description: Share of the variance of the containers' mean use that lies between services, and
--   how much the containers of one service differ. Services with fewer than min_containers
--   containers are left out.
-- reads: usage_container_profile
-- param: min_containers BIGINT A service with fewer containers says nothing [containers].
-- column: resource VARCHAR cpu or memory.
-- column: services BIGINT Services counted [services].
-- column: containers BIGINT Their containers [containers].
-- column: between_share DOUBLE Variance between services / whole variance [0..1].
-- column: cv_median DOUBLE Median over services of the coefficient of variation [ratio].
-- column: cv_p90 DOUBLE 90 % of the services have at most this coefficient of variation [ratio].
-- order: resource
-- run: duckdb catalog.duckdb -f queries/services/alikeness.sql
WITH found AS (
    SELECT
        'cpu' AS resource,
        service,
        cpu_mean AS mean
    FROM usage_container_profile
    UNION ALL
    SELECT
        'memory' AS resource,
        service,
        memory_mean AS mean
    FROM usage_container_profile
),

per_service AS (
    SELECT
        resource,
        service,
        count(*) AS containers,
        avg(mean) AS mean,
        var_pop(mean) AS variance
    FROM found
    GROUP BY resource, service
    HAVING count(*) >= coalesce(getvariable('min_containers')::BIGINT, 5)
),

whole AS (
    SELECT
        resource,
        sum(containers * mean) / sum(containers) AS mean
    FROM per_service
    GROUP BY resource
),

spread AS (
    SELECT
        per_service.resource,
        per_service.containers,
        per_service.containers * per_service.variance AS within_sum,
        per_service.containers * (per_service.mean - whole.mean)
        * (per_service.mean - whole.mean) AS between_sum,
        CASE
            WHEN per_service.mean > 0 THEN sqrt(per_service.variance) / per_service.mean
        END AS cv
    FROM per_service
    INNER JOIN whole ON per_service.resource = whole.resource
)

SELECT
    resource,
    count(*) AS services,
    cast(sum(containers) AS BIGINT) AS containers,
    CASE
        WHEN sum(within_sum) + sum(between_sum) > 1e-18
            THEN round(sum(between_sum) / (sum(within_sum) + sum(between_sum)), 12)
    END AS between_share,
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY cv), 12) AS cv_median,
    round(percentile_cont(0.9) WITHIN GROUP (ORDER BY cv), 12) AS cv_p90
FROM spread
GROUP BY resource
ORDER BY resource;
