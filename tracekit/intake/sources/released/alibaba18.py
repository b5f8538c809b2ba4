"""Alibaba cluster trace of 2018: services and batch jobs on 4,034 machines, eight days.

Facts: alibaba/clusterdata, cluster-trace-v2018, schema.txt and trace_2018.md (columns, checksums),
issues 64, 81 and 224, and the machine table itself.
"""

from tracekit.intake.sources import Archives
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind
from tracekit.intake.sources.released._alibaba_batch import (
    ALONE,
    BEGUN,
    INFERRED,
    MOST_INSTANCE_BYTES,
)

_archive = Archives.single
_MEASURED = "bandwidth:number mpki:number net_in:number net_out:number disk_io:number"

SOURCE = Released(
    name="alibaba18",
    title="Alibaba cluster trace 2018: 4,034 machines, 71,000 containers and batch jobs, 8 days",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2018",
    download_url="http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2018Traces/",
    lacks=(
        "memory in bytes: sizes, requests and use are fractions of a machine's",
        "network and disk speed: use is a fraction of an unknown whole",
        "prices",
    ),
    inferred=(
        "a container departs when it stopped first with no other event after, else it stays",
        "a machine whose event names no second failure domain keeps the one before",
        *INFERRED,
    ),
    notes=(
        "failure_domain_1 is the domain, failure_domain_2 the zone; neither lies within the other",
        "status USING is ready; any other is closed",
        "-1 and 101 stand for no value in use of memory, network and disk, and in memory sizes",
        "the use of containers is taken as of their requests, as in 2017; upstream does not say",
        "upstream left open what disk_io_percent is (issue 81) and why mem_gps is low (224)",
        "about half of the memory in use belongs to no container and no batch instance (issue 64)",
    ),
    shared="_alibaba_batch",
    kinds=(
        Kind(
            word="machines",
            title="machines: sizes, failure domains",
            stem="machine_meta",
            columns=r"node=m_\d+ time:seconds=\d+ domain zone=\w* cpu:number memory:number"
            r" status=[A-Z_]*",
            whole=True,
            archives=_archive(
                "machine_meta",
                92 << 10,
                "b5b1b786b22cd413a3674b8f2ebfb2f02fac991c95df537f363ef2797c8f6d55",
            ),
        ),
        Kind(
            word="machine_usage",
            title="use of machines",
            stem="machine_usage",
            columns=rf"node=m_\d+ time:seconds=[\d.]+ cpu:number memory:number {_MEASURED}",
            archives=_archive(
                "machine_usage",
                1741 << 20,
                "3e6ee87fd204bb85b9e234c5c75a5096580fdabc8f085b224033080090753a7a",
            ),
        ),
        Kind(
            word="containers",
            title="containers: requests, limits, machines",
            stem="container_meta",
            columns=r"container!=c_\d+ node=m_\d+ time:seconds!=\d+ service=\w* status=\w*"
            " request:hundredths limit:hundredths memory:number",
            whole=True,
            archives=_archive(
                "container_meta",
                2458 << 10,
                "febd75e693d1f208a8941395e7faa7e466e50d21c256eff12a815b7e2fa2053f",
            ),
        ),
        Kind(
            word="container_usage",
            title="use of containers",
            stem="container_usage",
            columns=r"container!=(c_\d+)? node=m_\d+ time:seconds=[\d.]+ cpu:number memory:number"
            rf" cpi:number {_MEASURED}",
            archives=_archive(
                "container_usage",
                28 << 30,
                "b4bd3b1b82f5407c1b0dd47fe736ff5152c4b016a9c30cb26f988e2d1c5e5031",
            ),
        ),
        Kind(
            word="tasks",
            title="batch tasks: requests",
            stem="batch_task",
            columns=r"task=[^,]+ instances:number=\d* job -=\w* status=[A-Z]\w* start:seconds"
            " end:seconds cpu:hundredths memory:hundredths",
            rules=ALONE,
            beside=("instances",),
            beside_bytes=MOST_INSTANCE_BYTES,
            archives=_archive(
                "batch_task",
                125 << 20,
                "7c4b32361bd1ec2083647a8f52a6854a03bc125ca5c202652316c499fbf978c6",
            ),
        ),
        Kind(
            word="instances",
            title="batch instances: lives, machines, use",
            stem="batch_instance",
            columns=r"name=[^,]+ task=[^,]+ job -=\w* status=[A-Z]\w* start:seconds=\d*"
            r" end:seconds=\d* node=(m_\d+)? try:number -:number cpu:hundredths -:number"
            " memory:hundredths -:number",
            rules=BEGUN,
            tables=("container", "container_resource", "container_amount"),
            beside=("tasks",),
            archives=_archive(
                "batch_instance",
                20 << 30,
                "e73e5a9326669aa079ba20048ddd759383cabe1fe3e58620aa75bd034e2450c6",
            ),
        ),
    ),
)
