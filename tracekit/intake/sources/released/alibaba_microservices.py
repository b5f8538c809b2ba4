"""Alibaba's microservices traces of 2021 and 2022 (cluster-trace-microservices-v2021 and v2022).

Of 2021 the first spelling of each column is the one in the released files; the others are those of
the release's README. The headers of 2022 are those that notebooks print which read the files, and
those of the README. In 2022 ``USER`` calls from outside the cluster: like ``UNKNOWN`` and
``UNAVAILABLE`` it is no service, so all three become NULL, counted by spelling.

Facts: alibaba/clusterdata, of each release the README.md (columns, sizes, ids, units) and
fetchData.sh (addresses, minutes per file); of 2021 issues 120 and 220 and the heads of the files.
"""

from tracekit.base.units import BYTES_PER_GIB, BYTES_PER_MIB
from tracekit.intake.sources import Archives, Source, TableFormat, Unpivot

CTM21 = Source(
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


_DAYS_MINUTES = 13 * 24 * 60


def _archives(stem: str, minutes: int, hour_mib: int) -> Archives:
    """The archives of one table, from the minutes in a file and the MiB of an hour."""
    return Archives(
        path=f"{stem}/{stem}_{{part}}.tar.gz",
        parts=_DAYS_MINUTES // minutes,
        part_bytes=hour_mib * BYTES_PER_MIB * minutes // 60,
    )


_CALLS = {
    "providerrpc": "providerRPC",
    "consumerrpc": "consumerRPC",
    "writemc": "writeMC",
    "readmc": "readMC",
    "writedb": "writeDB",
    "readdb": "readDB",
    "consumermq": "consumerMQ",
    "providermq": "providerMQ",
    "http": "HTTP",
}

CTM22 = Source(
    name="ctm22",
    title="Alibaba microservices trace 2022: 13 days of 40,000 nodes and 470,000 containers",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-microservices-v2022",
    download_url="https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2022MicroservicesTraces/",
    missing_names=frozenset(
        {"", "UNKNOWN", "USER", "UNAVAILABLE", "(?)", "NAN", "NaN", "nan", "None", "NULL", "null"}
    ),
    id_pattern=r"NODE_\d+|MS_\d+(_POD_\d+)?",
    notes=(
        "samples are 60 s apart",
        "every *_MCR is normalised to 0..1 by an unknown maximum: no calls per second",
        "use of nodes and containers is normalised too",
    ),
    formats=(
        TableFormat(
            table="container_usage",
            word="resource",
            file_stem="MSMetrics",
            columns={
                "time_ms": ("timestamp",),
                "service": ("msname",),
                "container": ("msinstanceid",),
                "node": ("nodeid",),
                "cpu_fraction": ("cpu_utilization",),
                "memory_fraction": ("memory_utilization",),
            },
            archives=_archives("MSMetricsUpdate", 30, 700),
        ),
        TableFormat(
            table="service_rate",
            word="rate",
            file_stem="MCRRT",
            columns={
                "time_ms": ("timestamp",),
                "service": ("msname",),
                "container": ("msinstanceid",),
            },
            ignored=("nodeid",),
            unpivot=Unpivot(
                name_column="metric",
                value_column="value",
                names={
                    f"{call}_{what.lower()}": f"{name}_{what}"
                    for call, name in _CALLS.items()
                    for what in ("RT", "MCR")
                },
            ),
            archives=_archives("MCRRTUpdate", 3, 3 * 1024),
        ),
        TableFormat(
            table="call",
            word="call",
            file_stem="CallGraph",
            columns={
                "time_ms": ("timestamp",),
                "trace": ("traceid",),
                "rpc_id": ("rpc_id", "rpcid"),
                "upstream": ("um",),
                "rpc_type": ("rpctype",),
                "downstream": ("dm",),
                "interface": ("interface",),
                "response_time_ms": ("rt",),
            },
            ignored=("service", "uminstanceid", "dminstanceid"),
            archives=_archives("CallGraph", 3, 4 * 1024),
        ),
        TableFormat(
            table="node_usage",
            word="node",
            file_stem="NodeMetrics",
            columns={
                "time_ms": ("timestamp",),
                "node": ("nodeid",),
                "cpu_fraction": ("cpu_utilization",),
                "memory_fraction": ("memory_utilization",),
            },
            archives=_archives("NodeMetricsUpdate", 720, 10),
        ),
    ),
)
