"""Alibaba cluster trace of 2018: services and batch jobs on 4,034 machines, eight days.

Facts: alibaba/clusterdata, cluster-trace-v2018, schema.txt and trace_2018.md (columns, checksums),
issues 64, 81 and 224, and the machine table itself.
"""

from functools import partial

from tracekit.sources import Archives, ClusterFile, ClusterSource
from tracekit.sources.released._alibaba18_readers import (
    BATCH,
    read_container_meta,
    read_container_usage,
    read_machine_meta,
    read_machine_usage,
)
from tracekit.sources.released._alibaba_batch import INFERRED, NUM, read_instances, read_tasks
from tracekit.sources.released._lines import headerless

_archive = Archives.single


SOURCE = ClusterSource(
    name="alibaba18",
    title="Alibaba cluster trace 2018: 4,034 machines, 71,000 containers and batch jobs, 8 days",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2018",
    download_url="http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2018Traces/",
    missing_names=frozenset({""}),
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
    files=(
        ClusterFile(
            word="machines",
            title="machines: sizes, failure domains",
            tables=("node", "node_resource"),
            recognises=headerless("machine_meta", rf"m_\d+,\d+,{NUM},\w*,{NUM},{NUM},[A-Z_]*"),
            read=read_machine_meta,
            archives=_archive(
                "machine_meta",
                92 << 10,
                "b5b1b786b22cd413a3674b8f2ebfb2f02fac991c95df537f363ef2797c8f6d55",
            ),
        ),
        ClusterFile(
            word="machine_usage",
            title="use of machines",
            tables=("node_usage", "node_amount"),
            recognises=headerless("machine_usage", rf"m_\d+,[\d.]+(,{NUM}){{7}}"),
            read=read_machine_usage,
            archives=_archive(
                "machine_usage",
                1741 << 20,
                "3e6ee87fd204bb85b9e234c5c75a5096580fdabc8f085b224033080090753a7a",
            ),
        ),
        ClusterFile(
            word="containers",
            title="containers: requests, limits, machines",
            tables=("container", "container_resource"),
            recognises=headerless("container_meta", rf"c_\d+,m_\d+,\d+,\w*,\w*(,{NUM}){{3}}"),
            read=read_container_meta,
            archives=_archive(
                "container_meta",
                2458 << 10,
                "febd75e693d1f208a8941395e7faa7e466e50d21c256eff12a815b7e2fa2053f",
            ),
        ),
        ClusterFile(
            word="container_usage",
            title="use of containers",
            tables=("container_usage", "container_amount"),
            recognises=headerless("container_usage", rf"(?:c_\d+)?,m_\d+,[\d.]+(,{NUM}){{8}}"),
            read=read_container_usage,
            archives=_archive(
                "container_usage",
                28 << 30,
                "b4bd3b1b82f5407c1b0dd47fe736ff5152c4b016a9c30cb26f988e2d1c5e5031",
            ),
        ),
        ClusterFile(
            word="tasks",
            title="batch tasks: requests",
            tables=("container", "container_resource"),
            recognises=headerless(
                "batch_task", rf"[^,]+,\d*,[^,]*,\w*,[A-Z]\w*,{NUM},{NUM},{NUM},{NUM}"
            ),
            read=partial(read_tasks, form=BATCH),
            archives=_archive(
                "batch_task",
                125 << 20,
                "7c4b32361bd1ec2083647a8f52a6854a03bc125ca5c202652316c499fbf978c6",
            ),
        ),
        ClusterFile(
            word="instances",
            title="batch instances: lives, machines, use",
            tables=("container", "container_resource", "container_amount"),
            recognises=headerless(
                "batch_instance",
                rf"[^,]+,[^,]+,[^,]*,\w*,[A-Z]\w*,\d*,\d*,(?:m_\d+)?(,{NUM}){{6}}",
            ),
            read=partial(read_instances, form=BATCH),
            archives=_archive(
                "batch_instance",
                20 << 30,
                "e73e5a9326669aa079ba20048ddd759383cabe1fe3e58620aa75bd034e2450c6",
            ),
        ),
    ),
)
