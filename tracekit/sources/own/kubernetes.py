"""One's own cluster: nodes and pods from kubectl, their use from Prometheus or metrics-server."""

from tracekit.sources._cluster import ClusterFile, ClusterSource
from tracekit.sources.own._kubernetes_metrics_server import read_measurements
from tracekit.sources.own._kubernetes_objects import holds_measurements, holds_objects
from tracekit.sources.own._kubernetes_read import read_objects
from tracekit.sources.own._prometheus_rows import read_exports, read_ranges, read_texts
from tracekit.sources.own._prometheus_series import holds_exports, holds_ranges, holds_texts

_DESCRIBED = ("node", "node_resource", "container", "container_resource")
_USED = ("container_amount", "node_amount")

SOURCE = ClusterSource(
    name="kubernetes",
    title="One's own Kubernetes cluster: kubectl, Prometheus, metrics-server",
    url="https://kubernetes.io/docs/reference/kubectl/",
    missing_names=frozenset({""}),
    licence="your own data",
    files=(
        ClusterFile(
            word="objects",
            title="what kubectl get nodes,pods -A -o json prints, or a watch log",
            tables=_DESCRIBED,
            recognises=holds_objects,
            read=read_objects,
            together=True,
        ),
        ClusterFile(
            word="measurements",
            title="what metrics-server answers: NodeMetricsList, PodMetricsList",
            tables=_USED,
            recognises=holds_measurements,
            read=read_measurements,
        ),
        ClusterFile(
            word="range",
            title="answers of Prometheus to query_range",
            tables=(*_DESCRIBED, *_USED),
            recognises=holds_ranges,
            read=read_ranges,
        ),
        ClusterFile(
            word="text",
            title="promtool tsdb dump, or OpenMetrics with times",
            tables=(*_DESCRIBED, *_USED),
            recognises=holds_texts,
            read=read_texts,
        ),
        ClusterFile(
            word="export",
            title="JSON lines that VictoriaMetrics exports",
            tables=(*_DESCRIBED, *_USED),
            recognises=holds_exports,
            read=read_exports,
        ),
    ),
    lacks=(
        "NUMA cells, bound CPUs and prices",
        "changes of labels and taints before a snapshot was taken",
        "preferred affinities, rules about pods of namespaces that are chosen by their labels",
        "calls between services",
    ),
    inferred=(
        "service: the Deployment of a ReplicaSet and the CronJob of a Job, by their names",
        "departure of a pod that a later list lacks: when what replaces it came, else then",
        "departure of a pod that only Prometheus saw: its end, its first Failed or Succeeded",
        "departure of a pod that says none of these: its last sample",
        "rates of scraped counters: increase since the sample before, from 0 where a counter fell",
    ),
    notes=(
        "times are epoch milliseconds; a pod that was there before arrives when it was created",
        "a container is a pod: namespace/name, and namespace/name@uid for a later life of it",
        "a pod that has ended without saying when departs at the latest time it speaks of",
        "nvidia.com/gpu is gpu, ephemeral-storage is disk; other resources keep their names",
        "samples that were scraped, not queried, are put on a grid of their usual step",
        "where kubectl printed a node or pod, its size and node in Prometheus are left out",
        "cgroups around containers (no container label, or POD) are left out, of answers too",
        "an exporter's node is met by its name, an address, or the first part of a host's name",
        "no rate is made across five minutes without a sample",
    ),
)
