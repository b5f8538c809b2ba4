"""Alibaba cluster trace of 2017: services bound to vCPUs, and batch jobs, on 1,313 machines.

Facts: alibaba/clusterdata, cluster-trace-v2017, schema.csv and trace_201708.md, issues 10, 11, 19
and 33, and the tables of machines and tasks themselves.
"""

from functools import partial

from tracekit.sources import Archives, ClusterFile, ClusterSource
from tracekit.sources.released._alibaba17_readers import (
    BATCH,
    read_container_event,
    read_container_usage,
    read_server_event,
    read_server_usage,
)
from tracekit.sources.released._alibaba_batch import INFERRED, NUM, read_instances, read_tasks
from tracekit.sources.released._lines import headerless

#: One archive holds all six tables; its size is not stated.
_ARCHIVES = Archives(path="alibaba-trace-2017.tar.gz", parts=1, part_bytes=200 << 20)

SOURCE = ClusterSource(
    name="alibaba17",
    title="Alibaba cluster trace 2017: 1,313 machines, services bound to vCPUs, batch jobs, a day",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2017",
    download_url="http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2017Traces/",
    missing_names=frozenset({""}),
    lacks=(
        "memory and disk in bytes: fractions of the largest machine",
        "names of services",
        "network",
        "racks and zones",
        "prices",
    ),
    inferred=(
        "an online instance is a service of its own, since no service is named",
        "a machine is closed from its first error on: no event says when one is over",
        "an instance of a batch task has no name: job, task and line stand for it",
        *INFERRED,
    ),
    notes=(
        "sizes of 0 in error rows are no capacity",
        "of two Create events of one instance the first holds; the other counts as a duplicate",
        "tasks that are read beside their instances give these their requests, and no rows",
        "times before 0 are from before the trace and become 0",
        "upstream calls vCPUs 0 to 31 one package, and 0 and 32 one core: both cannot hold",
        "up to 124 cpus are given out on machines of 64 (issue 19)",
        "use of instances that no event names is kept (9088 and others)",
        "job and task are missing in instances that start between 60,000 s and 89,000 s (issue 10)",
    ),
    files=(
        ClusterFile(
            word="machines",
            title="machines: sizes, errors",
            tables=("node", "node_resource"),
            recognises=headerless(
                "server_event",
                rf"-?\d+,\d+,(?:add|softerror|harderror),\w*,{NUM},{NUM},{NUM}",
            ),
            read=read_server_event,
            archives=_ARCHIVES,
        ),
        ClusterFile(
            word="machine_usage",
            title="use of machines",
            tables=("node_usage", "node_amount"),
            recognises=headerless("server_usage", rf"-?\d+,\d+(,{NUM}){{6}}"),
            read=read_server_usage,
            archives=_ARCHIVES,
        ),
        ClusterFile(
            word="containers",
            title="online instances: requests, machines, vCPUs",
            tables=("container", "container_resource"),
            recognises=headerless(
                "container_event",
                rf"-?\d+,(?:Create|Remove),\d+,\d*,{NUM},{NUM},{NUM}(?:,[\d|]*)?,?",
            ),
            read=read_container_event,
            archives=_ARCHIVES,
        ),
        ClusterFile(
            word="container_usage",
            title="use of online instances",
            tables=("container_usage", "container_amount"),
            recognises=headerless("container_usage", rf"-?\d+,\d+(,{NUM}){{10}}"),
            read=read_container_usage,
            archives=_ARCHIVES,
        ),
        ClusterFile(
            word="tasks",
            title="batch tasks: requests",
            tables=("container", "container_resource"),
            recognises=headerless("batch_task", rf"-?\d+,-?\d+,\d*,\d*,\d*,[A-Z]\w*,{NUM},{NUM}"),
            read=partial(read_tasks, form=BATCH),
            archives=_ARCHIVES,
        ),
        ClusterFile(
            word="instances",
            title="batch instances: lives, machines, use",
            tables=("container", "container_resource", "container_amount"),
            recognises=headerless(
                "batch_instance",
                rf"-?\d*,-?\d*,\d*,\d*,\d*,[A-Z]\w*,\d*,\d*,{NUM},{NUM},{NUM},{NUM}",
            ),
            read=partial(read_instances, form=BATCH),
            archives=_ARCHIVES,
        ),
    ),
)
