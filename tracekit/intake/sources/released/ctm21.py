"""Alibaba microservices trace of 2021 (cluster-trace-microservices-v2021).

The first spelling of each column is the one in the released files; the others are those of the
release's README. Facts: alibaba/clusterdata, cluster-trace-microservices-v2021, its fetchData.sh,
issues 120 and 220, and the heads of the files themselves.
"""

from tracekit.base.units import BYTES_PER_GIB
from tracekit.intake.sources import Archives, Source, TableFormat

SOURCE = Source(
    name="ctm21",
    title="Alibaba microservices trace 2021: 12 h of 13,000 nodes and 90,000 containers",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-microservices-v2021",
    download_url="http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2021MicroservicesTraces/",
    missing_names=frozenset({"", "(?)", "NAN", "NaN", "nan", "None", "NULL", "null"}),
    id_pattern="[0-9a-f]{64}",
    notes=(
        "HTTP_MCR repeats HTTP_RT, and consumerMQ_MCR consumerMQ_RT: neither pair can be used",
        "MSResource covers two clusters, MSCallGraph more than ten",
    ),
    formats=(
        TableFormat(
            table="container_usage",
            word="resource",
            file_stem="MSResource",
            columns={
                "time_ms": ("timestamp",),
                "service": ("msname",),
                "container": ("msinstanceid",),
                "node": ("nodeid",),
                "cpu_fraction": ("instance_cpu_usage", "cpu_utilization"),
                "memory_fraction": ("instance_memory_usage", "memory_utilization"),
            },
            archives=Archives(
                path="MSResource/MSResource_{part}.tar.gz",
                parts=12,
                part_bytes=16 * BYTES_PER_GIB // 12,
            ),
        ),
        TableFormat(
            table="service_rate",
            word="rate",
            file_stem="MSRTQps",
            columns={
                "time_ms": ("timestamp",),
                "service": ("msname",),
                "container": ("msinstanceid",),
                "metric": ("metric", "metrics"),
                "value": ("value",),
            },
            archives=Archives(
                path="MSRTQps/MSRTQps_{part}.tar.gz",
                parts=25,
                part_bytes=19 * BYTES_PER_GIB // 25,
            ),
        ),
        TableFormat(
            table="call",
            word="call",
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
            archives=Archives(
                path="MSCallGraph/MSCallGraph_{part}.tar.gz",
                parts=145,
                part_bytes=25 * BYTES_PER_GIB // 145,
            ),
        ),
        TableFormat(
            table="node_usage",
            word="node",
            file_stem="Node",
            columns={
                "time_ms": ("timestamp",),
                "node": ("nodeid",),
                "cpu_fraction": ("node_cpu_usage", "cpu_utilization"),
                "memory_fraction": ("node_memory_usage", "memory_utilization"),
            },
            archives=Archives(
                path="node/Node_{part}.tar.gz",
                parts=1,
                part_bytes=11 * BYTES_PER_GIB // 10,
            ),
        ),
    ),
)
