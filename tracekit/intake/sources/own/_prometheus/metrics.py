"""Which metric of Prometheus means what, and the query that fetches it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import Literal

Entity = Literal["container", "node"]


@dataclass(frozen=True, kw_only=True)
class Use:
    """A metric of what containers or nodes use.

    Parameters
    ----------
    fills : {'container', 'node'}
    resource, unit : str
        As the tables of amounts call them.
    counter : bool
        Whether it counts up, so that its rate is what is in use.
    sign : int
        1 or -1: one of two metrics of which the difference is in use; 0: it is in use itself.
    sandbox : bool
        Whether it belongs to the pod and not to one of its containers.
    without : tuple of pairs
        A label, and its values that do not count.
    """

    fills: Entity
    resource: str
    unit: str
    counter: bool = False
    sign: int = 0
    sandbox: bool = False
    without: tuple[tuple[str, tuple[str, ...]], ...] = ()


#: Not at work: idle, waiting for disks, or taken by the machine below.
_IDLE = ("mode", ("idle", "iowait", "steal"))

#: Recording rules of kube-prometheus.
_RULE = "node_namespace_pod_container:container_"

#: What is in use, by the metric's name; names that end in ``_in_use`` are those of our queries.
USES: dict[str, Use] = {
    "container_cpu_in_use": Use(fills="container", resource="cpu", unit="cores"),
    "container_memory_in_use": Use(fills="container", resource="memory", unit="bytes"),
    "container_net_in_in_use": Use(fills="container", resource="net_in", unit="bytes/s"),
    "container_net_out_in_use": Use(fills="container", resource="net_out", unit="bytes/s"),
    "node_cpu_in_use": Use(fills="node", resource="cpu", unit="cores"),
    "node_memory_in_use": Use(fills="node", resource="memory", unit="bytes"),
    "container_cpu_usage_seconds_total": Use(
        fills="container", resource="cpu", unit="cores", counter=True
    ),
    "container_memory_working_set_bytes": Use(fills="container", resource="memory", unit="bytes"),
    **{
        f"{_RULE}cpu_usage_seconds_total:{name}": Use(
            fills="container", resource="cpu", unit="cores"
        )
        for name in ("sum_irate", "sum_rate", "sum_rate5m")
    },
    f"{_RULE}memory_working_set_bytes": Use(fills="container", resource="memory", unit="bytes"),
    "container_network_receive_bytes_total": Use(
        fills="container", resource="net_in", unit="bytes/s", counter=True, sandbox=True
    ),
    "container_network_transmit_bytes_total": Use(
        fills="container", resource="net_out", unit="bytes/s", counter=True, sandbox=True
    ),
    "node_cpu_seconds_total": Use(
        fills="node",
        resource="cpu",
        unit="cores",
        counter=True,
        without=(_IDLE,),
    ),
    "node_memory_MemTotal_bytes": Use(fills="node", resource="memory", unit="bytes", sign=1),
    "node_memory_MemAvailable_bytes": Use(fills="node", resource="memory", unit="bytes", sign=-1),
}

#: What kube-state-metrics records, and what each metric says.
STATES: dict[str, str] = {
    "kube_node_status_allocatable": "capacity of a node",
    "kube_node_info": "address of a node",
    "kube_node_status_addresses": "addresses of a node",
    "kube_node_labels": "labels of a node, as far as --metric-labels-allowlist lets them through",
    "kube_node_spec_taint": "taints of a node",
    "kube_node_spec_unschedulable": "whether a node takes new pods",
    "kube_pod_info": "node and owner of a pod, and the node's address",
    "kube_pod_created": "when a pod was created",
    "kube_pod_status_scheduled_time": "when a pod was given its node",
    "kube_pod_completion_time": "when a pod ended",
    "kube_pod_status_phase": "whether a pod has failed or succeeded, and from when on",
    "kube_pod_container_resource_requests": "requests of a container",
    "kube_pod_container_resource_limits": "limits of a container",
    "kube_pod_init_container_resource_requests": "requests of an init container",
    "kube_pod_init_container_info": "which init containers are sidecars",
    "kube_pod_resource_request": "requests of a pod, as the scheduler counts them",
    "kube_pod_resource_limit": "limits of a pod, as the scheduler counts them",
    "kube_pod_overhead_cpu_cores": "what a pod takes beside its containers",
    "kube_pod_overhead_memory_bytes": "what a pod takes beside its containers",
    "kube_replicaset_owner": "the Deployment of a ReplicaSet",
    "node_uname_info": "the node that an instance of the node exporter stands on",
}


def _sized(metric: str) -> dict[str, tuple[str, dict[str, str]]]:
    """The metrics of kube-state-metrics 1, which have the resource in their name."""
    ends = {"cpu_cores": "cpu", "memory_bytes": "memory", "pods": "pods"}
    return {f"{metric}_{end}": (metric, {"resource": of}) for end, of in ends.items()}


#: Metrics under the names that they had before, as they are called now and with which labels more:
#: those of kube-state-metrics before 2.0 and of the node exporter before 0.16.
FORMERLY: dict[str, tuple[str, dict[str, str]]] = {
    **_sized("kube_node_status_allocatable"),
    **_sized("kube_pod_container_resource_requests"),
    **_sized("kube_pod_container_resource_limits"),
    **_sized("kube_pod_init_container_resource_requests"),
    "node_cpu": ("node_cpu_seconds_total", {}),
    "node_memory_MemTotal": ("node_memory_MemTotal_bytes", {}),
    "node_memory_MemAvailable": ("node_memory_MemAvailable_bytes", {}),
}


def called_now(name: str, labels: dict[str, str]) -> tuple[str, dict[str, str]]:
    """A metric's name and labels as its exporter calls them now."""
    now, more = FORMERLY.get(name, (name, {}))
    return now, {**labels, **more} if more else labels


_OF_STATE_METRICS = re.compile(r"kube_[a-z0-9_]+")


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query of ``fetch``: its result's name, and PromQL with places for what is asked.

    ``$match`` are matchers that every selector gets, ``$rate`` the span of rates, ``$span`` the
    time between two samples of what seldom changes. ``state`` is that which seldom changes.
    """

    name: str
    template: str
    state: bool = False

    def promql(self, *, match: str, rate: str, span: str) -> str:
        """The query as Prometheus takes it."""
        text = Template(self.template).substitute(match=match, rate=rate, span=span)
        return text.replace(",}", "}").replace("{}", "")


#: Labels that Prometheus gives to whom it scrapes in a cluster.
_TARGET = ("namespace", "pod", "container", "node")
#: The cgroup around the containers of a pod, which is all that some runtimes tell of.
POD_CGROUP = ".*pod[0-9a-fA-F_-]+([.]slice)?"
#: The cgroups of a machine, of its services, and around all pods. They have the name of the
#: exporter's pod where Prometheus puts that in.
MACHINE_CGROUP = (
    "/|/(user|init)[.](slice|scope)(/.*)?|/system[.]slice(/[^/:]*)?"
    "|/kubepods([.]slice)?(/(kubepods-)?(burstable|besteffort)([.]slice)?)?"
)
_IN_POD = f'pod!="",id!~"{MACHINE_CGROUP}",$match'
_REAL = f'container!="",container!="POD",exported_container!="POD",id!~"{POD_CGROUP}",{_IN_POD}'
_WHOLE = f'id=~"{POD_CGROUP}",pod!="",$match'
_NAMED = "on (instance) group_left (nodename) max by (instance, nodename) (node_uname_info{$match})"


def _measured(series: str) -> str:
    """Series with the names of whose use it is, where Prometheus put the exporter's before them."""
    for label in ("namespace", "pod", "container"):
        series = f'label_replace({series}, "{label}", "$$1", "exported_{label}", "(.+)")'
    return series


def _of_pods(
    name: str, metric: str, filters: str, *, rate: bool, part: str = "container", but: str = ""
) -> Query:
    """Each container, or interface, once: by however many scrapers or replicas it is seen."""
    series = f"rate({metric}{{{filters}}}[$rate])" if rate else f"{metric}{{{filters}}}"
    once = f"max by (namespace, pod, {part}) ({_measured(series)})"
    return Query(name=name, template=f"sum by (namespace, pod) ({once}){but}")


def _of_containers(name: str, metric: str, *, rate: bool) -> Query:
    """The containers of each pod; of a pod of which none is seen, the cgroup around them."""
    whole = f"rate({metric}{{{_WHOLE}}}[$rate])" if rate else f"{metric}{{{_WHOLE}}}"
    return _of_pods(
        name, metric, _REAL, rate=rate, but=f" or max by (namespace, pod) ({_measured(whole)})"
    )


def _net(name: str, metric: str) -> Query:
    """Not of pods on their host's network: theirs is the host's."""
    on_host = _measured('kube_pod_info{host_network="true",$match}')
    hosts = f"max by (namespace, pod) ({on_host})"
    but = f" unless on (namespace, pod) {hosts}"
    return _of_pods(name, metric, _IN_POD, rate=True, part="interface", but=but)


def _either(labels: Sequence[str]) -> list[str]:
    """Labels, and as they are called where Prometheus has put its own in their place."""
    return [*labels, *(f"exported_{one}" for one in labels if one in _TARGET)]


def _state(metric: str, *labels: str) -> Query:
    last = f"last_over_time({metric}{{$match}}[$span])"
    kept = f"max by ({', '.join(_either(labels))}) ({last})" if labels else last
    return Query(name=metric, template=kept, state=True)


_POD = ("namespace", "pod", "uid")
_SIZE = (*_POD, "node", "container", "resource", "unit")
#: What ``tracekit fetch prometheus`` asks for, in this order.
QUERIES: tuple[Query, ...] = (
    _state("kube_node_status_allocatable", "node", "resource", "unit"),
    _state("kube_node_labels"),
    _state("kube_node_spec_taint", "node", "key", "value", "effect"),
    _state("kube_node_spec_unschedulable", "node"),
    _state("kube_replicaset_owner", "namespace", "replicaset", "owner_kind", "owner_name"),
    _state("kube_pod_info", *_POD, "node", "host_network", "created_by_kind", "created_by_name"),
    _state("kube_pod_created", *_POD),
    _state("kube_pod_status_scheduled_time", *_POD),
    _state("kube_pod_completion_time", *_POD),
    Query(
        name="kube_pod_status_phase",
        # an evicted pod has no time of completion, and its object goes on being reported
        template=f"max by ({', '.join(_either(_POD))}, phase) (last_over_time("
        'kube_pod_status_phase{phase=~"Failed|Succeeded",$match}[$span])) > 0',
        state=True,
    ),
    _state("kube_pod_container_resource_requests", *_SIZE),
    _state("kube_pod_container_resource_limits", *_SIZE),
    _state("kube_pod_init_container_resource_requests", *_SIZE),
    _state("kube_pod_init_container_info", *_POD, "container", "restart_policy"),
    _state("kube_pod_overhead_cpu_cores", *_POD),
    _state("kube_pod_overhead_memory_bytes", *_POD),
    _state("kube_pod_resource_request", "namespace", "pod", "node", "resource", "unit"),
    _state("kube_pod_resource_limit", "namespace", "pod", "node", "resource", "unit"),
    _of_containers("container_cpu_in_use", "container_cpu_usage_seconds_total", rate=True),
    _of_containers("container_memory_in_use", "container_memory_working_set_bytes", rate=False),
    _net("container_net_in_in_use", "container_network_receive_bytes_total"),
    _net("container_net_out_in_use", "container_network_transmit_bytes_total"),
    Query(
        name="node_cpu_in_use",
        template="max by (nodename) (sum by (instance) (max by (instance, cpu, mode)"
        ' (rate(node_cpu_seconds_total{mode!~"idle|iowait|steal",$match}[$rate])))'
        f" * {_NAMED})",
    ),
    Query(
        name="node_memory_in_use",
        template="max by (nodename) ((max by (instance) (node_memory_MemTotal_bytes{$match})"
        " - max by (instance) (node_memory_MemAvailable_bytes{$match}))"
        f" * {_NAMED})",
    ),
)


def name_in(stem: str) -> str | None:
    """The metric that a file's name begins with, the longest; None for none.

    Any other name of kube-state-metrics is one that nobody asks for: such files are passed over.
    """
    known = [name for name in (*USES, *STATES, *FORMERLY) if stem.startswith(name)]
    other = _OF_STATE_METRICS.match(stem)
    return max(known, key=len, default=other[0] if other else None)
