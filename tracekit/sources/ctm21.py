"""Alibaba microservices trace of 2021 (cluster-trace-microservices-v2021).

The first spelling of each column is the one in the released files; the others are those of the
release's README. Facts: alibaba/clusterdata, cluster-trace-microservices-v2021, issues 120 and
220, and the heads of the files themselves.
"""

from tracekit.sources import Source, TableFormat

SOURCE = Source(
    name="ctm21",
    title="Alibaba microservices trace 2021: 12 h of 13,000 nodes and 90,000 containers",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-microservices-v2021",
    missing_names=frozenset({"", "(?)", "NAN", "NaN", "nan", "None", "NULL", "null"}),
    formats=(
        TableFormat(
            table="container_usage",
            file_stem="MSResource",
            columns={
                "time_ms": ("timestamp",),
                "service": ("msname",),
                "container": ("msinstanceid",),
                "node": ("nodeid",),
                "cpu_fraction": ("instance_cpu_usage", "cpu_utilization"),
                "memory_fraction": ("instance_memory_usage", "memory_utilization"),
            },
        ),
        TableFormat(
            table="service_rate",
            file_stem="MSRTQps",
            columns={
                "time_ms": ("timestamp",),
                "service": ("msname",),
                "container": ("msinstanceid",),
                "metric": ("metric", "metrics"),
                "value": ("value",),
            },
        ),
        TableFormat(
            table="call",
            file_stem="MSCallGraph",
            columns={
                "time_ms": ("timestamp",),
                "trace": ("traceid",),
                "rpc_id": ("rpcid",),
                "upstream": ("um",),
                "rpc_type": ("rpctype",),
                "downstream": ("dm",),
                "interface": ("interface",),
                "response_time_ms": ("rt",),
            },
        ),
        TableFormat(
            table="node_usage",
            file_stem="Node",
            columns={
                "time_ms": ("timestamp",),
                "node": ("nodeid",),
                "cpu_fraction": ("node_cpu_usage", "cpu_utilization"),
                "memory_fraction": ("node_memory_usage", "memory_utilization"),
            },
        ),
    ),
)
