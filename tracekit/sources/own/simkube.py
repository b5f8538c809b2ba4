"""Traces that SimKube recorded in a cluster: Deployments and the like, over time.

Facts: acrlabs/simkube, docs/ref/trace-files.md and sk-core/src/trace.
"""

from tracekit.sources._cluster import ClusterFile, ClusterSource
from tracekit.sources.own._simkube_readers import is_trace, read_trace

SOURCE = ClusterSource(
    name="simkube",
    title="Traces of SimKube: workload objects of a cluster and how they changed",
    url="https://github.com/acrlabs/simkube",
    missing_names=frozenset({""}),
    licence="your own data; MIT for the traces in its repository",
    files=(
        ClusterFile(
            word="trace",
            title="changes of workload objects, and lives of their pods where recorded",
            tables=("container", "container_resource"),
            recognises=is_trace,
            read=read_trace,
        ),
    ),
    lacks=("nodes", "placement", "use", "pods of DaemonSets", "names of pods"),
    inferred=(
        "pods of an object without recorded lives: its replicas, from each change on",
        "a smaller number of replicas ends the youngest pods; another template ends all of them",
    ),
    notes=(
        "times are those of the recorder, whole seconds since 1970",
        "an object that was there when recording began comes with the first event",
        "jobs without recorded lives never end",
    ),
)
