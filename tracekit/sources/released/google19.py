"""Borg cells of 2019: machines with switches, instances, alloc sets, constraints, usage.

Facts: google/cluster-data, clusterdata_trace_format_v3.proto (JSON lines or Parquet).
"""

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources.released import _google19_instances as instances
from tracekit.sources.released import _google19_kinds as kinds
from tracekit.sources.released import _google19_machines as machines
from tracekit.sources.released._google_labels import LABELS
from tracekit.sources.released._google_times import AFTER, BEFORE, SAMPLED

SOURCE = ClusterSource(
    name="google19",
    title="Google cluster data 2019 (version 3): eight cells, May 2019, instances and usage",
    url="https://github.com/google/cluster-data/blob/master/ClusterData2019.md",
    missing_names=frozenset({""}),
    licence="CC-BY-4.0",
    files=(
        ClusterFile(
            word="machines",
            title="machines that come, go and change (machine_events)",
            tables=("node", "node_resource"),
            recognises=kinds.is_machines,
            read=machines.read_machines,
        ),
        ClusterFile(
            word="attributes",
            title="attributes of machines, which become labels of machine_events beside it",
            tables=("node",),
            recognises=kinds.is_attributes,
            read=machines.read_attributes,
        ),
        ClusterFile(
            word="collections",
            title="events of jobs and alloc sets, whose limits per machine the instances take",
            tables=("container",),
            recognises=kinds.is_collections,
            read=instances.read_collections,
        ),
        ClusterFile(
            word="instances",
            title="events of tasks and alloc instances",
            tables=("container", "container_resource"),
            recognises=kinds.is_instances,
            read=instances.read_instances,
        ),
        ClusterFile(
            word="usage",
            title="usage of instances over 300 s",
            tables=("container_amount",),
            recognises=kinds.is_usage,
            read=instances.read_usage,
        ),
    ),
    lacks=(
        "cores and bytes: all sizes are fractions of the largest machine",
        "disk and network",
        "failure domains besides switches",
        "largest and sampled usage, percentiles, CPI, scheduling classes, users: not read",
    ),
    inferred=(
        "an instance is one container from its first SUBMIT to the last end that no start follows",
        "its node is the first machine that an event of it names",
        "an alloc instance reserves; a task in it requests 0 and stays together with it",
        "what a task in an alloc instance asks for is its limit",
        "max_per_machine and max_per_switch keep a collection apart; of both the first holds",
        "constraints are selectors of labels where machine_attributes are ingested too",
        LABELS,
    ),
    notes=(
        BEFORE,
        AFTER,
        "ingest all files of a cell at once, and one cell per store",
        SAMPLED,
    ),
)
