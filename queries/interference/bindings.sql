-- title: Which vCPUs each container was bound to, and the CPU it used there
-- description: A row for every sample of a container whose vCPUs are recorded. The vCPUs are those
--   of the table container, the node is the one of the sample, or the container's where the sample
--   has none. CPU in use is of what the container asked for; what it asked for last stands beside
--   it, and the last known size of the node.
-- reads: container_keyed, container_usage_keyed, container_resource_keyed, node_resource_keyed,
--   container_id, node_id, service_id
-- column: container VARCHAR The container.
-- column: service VARCHAR Its service.
-- column: node VARCHAR The node it was on.
-- column: time_ms BIGINT Time of the sample [ms].
-- column: vcpus VARCHAR The vCPUs, as Linux writes them: 0-3,8.
-- column: cpu_fraction DOUBLE CPU in use / CPU it asked for [0..1].
-- column: request_cores DOUBLE CPU it asked for [cores].
-- column: node_cores DOUBLE CPU of the node [cores].
-- order: container, time_ms
-- run: duckdb catalog.duckdb -f queries/interference/bindings.sql
WITH bound AS (
    SELECT
        container_key,
        service_key,
        node_key,
        vcpus
    FROM container_keyed
    WHERE vcpus IS NOT NULL
),

requests AS (
    SELECT
        container_key,
        max_by(request, time_ms) AS cores
    FROM container_resource_keyed
    WHERE resource = 'cpu' AND unit = 'cores' AND request IS NOT NULL
    GROUP BY container_key
),

sizes AS (
    SELECT
        node_key,
        max_by(amount, time_ms) AS cores
    FROM node_resource_keyed
    WHERE resource = 'cpu' AND unit = 'cores' AND cell IS NULL AND amount > 0
    GROUP BY node_key
),

samples AS (
    SELECT
        bound.container_key,
        bound.vcpus,
        u.time_ms,
        u.cpu_fraction,
        coalesce(u.node_key, bound.node_key) AS node_key,
        coalesce(bound.service_key, u.service_key) AS service_key
    FROM bound
    INNER JOIN container_usage_keyed AS u ON bound.container_key = u.container_key
)

SELECT
    container_id.container,
    service_id.service,
    node_id.node,
    samples.time_ms,
    samples.vcpus,
    samples.cpu_fraction,
    requests.cores AS request_cores,
    sizes.cores AS node_cores
FROM samples
INNER JOIN container_id ON samples.container_key = container_id.container_key
LEFT JOIN service_id ON samples.service_key = service_id.service_key
LEFT JOIN node_id ON samples.node_key = node_id.node_key
LEFT JOIN requests ON samples.container_key = requests.container_key
LEFT JOIN sizes ON samples.node_key = sizes.node_key
ORDER BY container_id.container, samples.time_ms;
