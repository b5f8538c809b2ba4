"""The metrics of Prometheus that a store needs: their meaning, and the queries of ``fetch``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import Literal

Entity = Literal["container", "node"]


@dataclass(frozen=True, kw_only=True)
class Use:
    """How a metric of Prometheus measures the use of containers or nodes; see ``USES``.

    Parameters
    ----------
    fills : {'container', 'node'}
        The kind of entity whose use it is.
    resource, unit : str
        The names in the tables of amounts.
    counter : bool
        Whether the metric counts up, so that its rate is the use.
    sign : int
        0: the metric is the use. 1 or -1: the use is the difference of two metrics, and this one is
        added or subtracted.
    sandbox : bool
        Whether the metric belongs to a whole pod and to no container.
    without : tuple of (str, tuple of str)
        Labels, each with its values that are no use, such as ``mode`` with ``idle``.
    """

    fills: Entity
    resource: str
    unit: str
    counter: bool = False
    sign: int = 0
    sandbox: bool = False
    without: tuple[tuple[str, tuple[str, ...]], ...] = ()


#: Modes of a CPU that are no use: idle, waiting for disks, taken by the hypervisor.
_IDLE = ("mode", ("idle", "iowait", "steal"))

#: Recording rules of kube-prometheus.
_RULE = "node_namespace_pod_container:container_"

#: Metrics of use by name; a name that ends in ``_in_use`` is a query of ``fetch``.
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

#: Metrics of kube-state-metrics by name, with their meaning.
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
    """Names of a metric in kube-state-metrics 1, which contain the resource."""
    ends = {"cpu_cores": "cpu", "memory_bytes": "memory", "pods": "pods"}
    return {f"{metric}_{end}": (metric, {"resource": of}) for end, of in ends.items()}


#: Former names of metrics, each with the present name and further labels: names of
#: kube-state-metrics before 2.0 and of the node exporter before 0.16.
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
    """Return the present name and labels of a metric that may have an older name."""
    now, more = FORMERLY.get(name, (name, {}))
    return now, {**labels, **more} if more else labels


_OF_STATE_METRICS = re.compile(r"kube_[a-z0-9_]+")


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query of ``fetch``: the name of its result, and a template of PromQL.

    In the template, ``$match`` stands for the matchers of every selector, ``$rate`` for the span of
    rates, and ``$span`` for the time between two samples of a state. ``state`` is whether the query
    is for a state, which seldom changes.
    """

    name: str
    template: str
    state: bool = False

    def promql(self, *, match: str, rate: str, span: str) -> str:
        """Return the query in PromQL."""
        text = Template(self.template).substitute(match=match, rate=rate, span=span)
        return text.replace(",}", "}").replace("{}", "")


#: Labels that Prometheus adds for the pod that it scrapes.
_TARGET = ("namespace", "pod", "container", "node")
#: The cgroup around the containers of a pod; some runtimes give no other.
POD_CGROUP = ".*pod[0-9a-fA-F_-]+([.]slice)?"
#: The cgroups of a machine, of its services, and around all pods. Their series may carry the name
#: of the exporter's pod.
MACHINE_CGROUP = (
    "/|/(user|init)[.](slice|scope)(/.*)?|/system[.]slice(/[^/:]*)?"
    "|/kubepods([.]slice)?(/(kubepods-)?(burstable|besteffort)([.]slice)?)?"
)
_IN_POD = f'pod!="",id!~"{MACHINE_CGROUP}",$match'
_REAL = f'container!="",container!="POD",exported_container!="POD",id!~"{POD_CGROUP}",{_IN_POD}'
_WHOLE = f'id=~"{POD_CGROUP}",pod!="",$match'
_NAMED = "on (instance) group_left (nodename) max by (instance, nodename) (node_uname_info{$match})"


def _measured(series: str) -> str:
    """Series with the labels of the measured pod, where Prometheus renamed them ``exported_``."""
    for label in ("namespace", "pod", "container"):
        series = f'label_replace({series}, "{label}", "$$1", "exported_{label}", "(.+)")'
    return series


def _of_pods(
    name: str, metric: str, filters: str, *, rate: bool, part: str = "container", but: str = ""
) -> Query:
    """A sum by pod that counts each container or interface once, whatever the scrapers."""
    series = f"rate({metric}{{{filters}}}[$rate])" if rate else f"{metric}{{{filters}}}"
    once = f"max by (namespace, pod, {part}) ({_measured(series)})"
    return Query(name=name, template=f"sum by (namespace, pod) ({once}){but}")


def _of_containers(name: str, metric: str, *, rate: bool) -> Query:
    """The sum of each pod's containers; of a pod without any, the cgroup around them."""
    whole = f"rate({metric}{{{_WHOLE}}}[$rate])" if rate else f"{metric}{{{_WHOLE}}}"
    return _of_pods(
        name, metric, _REAL, rate=rate, but=f" or max by (namespace, pod) ({_measured(whole)})"
    )


def _net(name: str, metric: str) -> Query:
    """Network use by pod, without pods on the network of their host."""
    on_host = _measured('kube_pod_info{host_network="true",$match}')
    hosts = f"max by (namespace, pod) ({on_host})"
    but = f" unless on (namespace, pod) {hosts}"
    return _of_pods(name, metric, _IN_POD, rate=True, part="interface", but=but)


def _either(labels: Sequence[str]) -> list[str]:
    """Labels, and the names that Prometheus gives to labels which it replaces."""
    return [*labels, *(f"exported_{one}" for one in labels if one in _TARGET)]


def _state(metric: str, *labels: str) -> Query:
    last = f"last_over_time({metric}{{$match}}[$span])"
    once = f"max by ({', '.join(_either(labels))}) ({last})" if labels else last
    return Query(name=metric, template=once, state=True)


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
    """Return the longest known metric that a file's name begins with; None if there is none.

    The name of another metric of kube-state-metrics (``kube_...``) is returned as well.
    """
    matching = [name for name in (*USES, *STATES, *FORMERLY) if stem.startswith(name)]
    other = _OF_STATE_METRICS.match(stem)
    return max(matching, key=len, default=other[0] if other else None)
