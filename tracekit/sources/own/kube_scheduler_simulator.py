"""Snapshots and records of kube-scheduler-simulator: nodes and pods of Kubernetes.

Facts: kubernetes-sigs/kube-scheduler-simulator, simulator/snapshot and simulator/recorder.
"""

from tracekit.sources._cluster import ClusterFile, ClusterSource
from tracekit.sources.own._simulator_readers import (
    is_record,
    is_snapshot,
    read_record,
    read_snapshot,
)

_TABLES = ("node", "node_resource", "container", "container_resource")

SOURCE = ClusterSource(
    name="kube_scheduler_simulator",
    title="Snapshots and records of kube-scheduler-simulator",
    url="https://github.com/kubernetes-sigs/kube-scheduler-simulator",
    missing_names=frozenset({""}),
    licence="your own data",
    files=(
        ClusterFile(
            word="snapshot",
            title="what /api/v1/export answers: pods, nodes and their classes",
            tables=_TABLES,
            recognises=is_snapshot,
            read=read_snapshot,
        ),
        ClusterFile(
            word="record",
            title="events of objects, a line each",
            tables=_TABLES,
            recognises=is_record,
            read=read_record,
        ),
    ),
    lacks=("use", "calls", "volumes", "the scheduler's configuration"),
    inferred=("priority of a pod that states none: that of its priority class",),
    notes=(
        "an object of a record that says no time of creation came with its first event",
        "an object of a snapshot that says no time of creation was there from the start",
    ),
)
