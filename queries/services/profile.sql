-- title: The containers of each service
-- description: How many containers each service has, on how many nodes, how they use CPU and
--   memory, and how alike they are: the coefficient of variation of the containers' means. A
--   container that moved counts once on each node it was on.
-- reads: usage_container_profile
-- column: service VARCHAR The service.
-- column: containers BIGINT Distinct containers [containers].
-- column: nodes BIGINT Distinct nodes they were on [nodes].
-- column: cpu_mean DOUBLE Mean over containers of their mean CPU [0..1].
-- column: cpu_std DOUBLE Mean over containers of their standard deviation over time [0..1].
-- column: cpu_max DOUBLE Mean over containers of their highest CPU [0..1].
-- column: cpu_cv DOUBLE Standard deviation over containers of their mean CPU / its mean [ratio].
-- column: memory_mean DOUBLE Mean over containers of their mean memory [0..1].
-- column: memory_std DOUBLE Mean over containers of their standard deviation over time [0..1].
-- column: memory_max DOUBLE Mean over containers of their highest memory [0..1].
-- column: memory_cv DOUBLE Standard deviation over containers of their mean memory / its mean
--   [ratio].
-- order: service
-- run: duckdb catalog.duckdb -f queries/services/profile.sql
SELECT
    service,
    count(DISTINCT container) AS containers,
    count(DISTINCT node) AS nodes,
    round(avg(cpu_mean), 12) AS cpu_mean,
    round(avg(cpu_std), 12) AS cpu_std,
    round(avg(cpu_max), 12) AS cpu_max,
    CASE WHEN avg(cpu_mean) > 0 THEN round(stddev_pop(cpu_mean) / avg(cpu_mean), 12) END AS cpu_cv,
    round(avg(memory_mean), 12) AS memory_mean,
    round(avg(memory_std), 12) AS memory_std,
    round(avg(memory_max), 12) AS memory_max,
    CASE
        WHEN avg(memory_mean) > 0 THEN round(stddev_pop(memory_mean) / avg(memory_mean), 12)
    END AS memory_cv
FROM usage_container_profile
GROUP BY service
ORDER BY service;
