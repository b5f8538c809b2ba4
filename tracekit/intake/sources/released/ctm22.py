"""Alibaba microservices trace of 2022 (cluster-trace-microservices-v2022).

Headers as printed by notebooks that read the files, and as in the release's README. Facts:
alibaba/clusterdata, cluster-trace-microservices-v2022, README.md (sizes per hour, ids, units) and
its fetchData.sh (addresses, minutes per file). ``USER`` calls from outside the cluster: like
``UNKNOWN`` and ``UNAVAILABLE`` it is no service, so all three become NULL, counted by spelling.
"""

from tracekit.base.units import BYTES_PER_MIB
from tracekit.intake.sources import Archives, Source, TableFormat, Unpivot

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

SOURCE = Source(
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
