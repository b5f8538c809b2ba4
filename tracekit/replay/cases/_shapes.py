"""Shapes that the inputs of several kinds share: pods, nodes, amounts, metrics, arguments."""

from tracekit.base import shape as s

NUMBER = s.number()
COUNT = s.number(0, whole=True)
WHOLE = s.number(whole=True)
#: Places and values of a broken line.
POINTS = s.list_of(s.row(WHOLE, WHOLE))
#: Maps of resources: amounts are whole numbers from 0 on; measured values are any numbers.
AMOUNTS = s.map_of(COUNT)
NUMBERS = s.map_of(s.optional(NUMBER))

_POD_CONTAINER = s.record(
    {
        "requests": s.optional(AMOUNTS),
        "limits": s.optional(AMOUNTS),
        "restart_policy": s.optional(s.text),
        "restartable": s.optional(s.flag),
    },
)
_CONTAINERS = s.optional(s.list_of(_POD_CONTAINER))
POD = s.record(
    {
        "name": s.optional(s.text),
        "containers": _CONTAINERS,
        "init_containers": _CONTAINERS,
        "sidecars": _CONTAINERS,
        "overhead": s.optional(AMOUNTS),
    },
)
PODS = s.optional(s.list_of(POD))

_AMOUNTS_OF_A_NODE = {
    "allocatable": s.optional(AMOUNTS),
    "capacity": s.optional(AMOUNTS),
    "allocatable_volumes": s.optional(COUNT),
}
NODE = s.record({"name": s.text, **_AMOUNTS_OF_A_NODE, "pods": PODS})
NODES = s.list_of(NODE)
#: A node whose ``allocatable`` is required.
MEASURED_NODE = s.record({"allocatable": AMOUNTS, "name": s.optional(s.text)})

METRICS = s.list_of(s.record({"type": s.text, "value": NUMBER, "operator": s.optional(s.text)}))
_WINDOW = s.record(
    {"nodes": s.optional(s.map_of(s.optional(METRICS))), "window_end": s.optional(COUNT)},
)
_RECENT = s.map_of(s.list_of(s.record({"pod": POD, "timestamp": COUNT})))

_PAIR = s.row(s.text, NUMBER)
#: Arguments as upstream spells them; a policy checks its own parameters besides.
ARGS = s.optional(
    s.record(
        {
            "strategy": s.optional(s.text),
            "resources": s.optional(s.either(s.map_of(NUMBER), s.list_of(_PAIR))),
            "shape": s.optional(s.list_of(s.row(NUMBER, NUMBER))),
            "risk_limit_weights": s.optional(s.map_of(NUMBER)),
            "node_power_model": s.optional(s.map_of(s.map_of(NUMBER))),
            "thresholds": s.optional(s.map_of(NUMBER)),
            "target_thresholds": s.optional(s.map_of(NUMBER)),
            "evictable_namespaces_exclude": s.optional(s.list_of(s.text)),
            "eviction_modes": s.optional(s.list_of(s.text)),
            "usage_source": s.optional(s.text),
            "mode": s.optional(s.text),
            "use_deviation_thresholds": s.optional(s.flag),
            "eviction_limit_node": s.optional(COUNT),
            "number_of_nodes": s.optional(COUNT),
        },
    )
)
ASKED = {"args": ARGS}

#: Inputs of a placement policy: nodes, their running pods, and their metrics. Nodes and pod are
#: optional in the shape; ``situation`` requires them, after the policy has been checked.
CLUSTER = {
    **ASKED,
    "metrics": s.optional(_WINDOW),
    "recent_pods": s.optional(_RECENT),
    "requested_volumes": s.optional(COUNT),
    "nodes": s.optional(NODES),
    "pod": s.optional(POD),
}
RESOURCE = s.one_of("cpu", "memory")
STATS = s.record(dict.fromkeys(("capacity", "req", "used_avg", "used_stdev"), NUMBER))
USAGE_OF_NODES = {"usage": s.map_of(NUMBERS), "totals": s.map_of(s.optional(NUMBERS))}

_TAINT = s.map_of(s.optional(s.text))
_RULE = s.record(
    {
        "key": s.text,
        "operator": s.one_of("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
        "values": s.optional(s.list_of(s.text)),
    }
)
_LABELS = s.optional(s.map_of(s.text))
NODES_TO_BALANCE = s.list_of(
    s.record(
        {
            "name": s.text,
            **_AMOUNTS_OF_A_NODE,
            "unschedulable": s.optional(s.flag),
            "labels": _LABELS,
            "taints": s.optional(s.list_of(_TAINT)),
        },
    )
)
PODS_TO_BALANCE = s.list_of(
    s.record(
        {
            "name": s.text,
            "node": s.text,
            "namespace": s.optional(s.text),
            "requests": s.optional(AMOUNTS),
            "limits": s.optional(AMOUNTS),
            "priority": s.optional(NUMBER),
            "owner_kind": s.optional(s.text),
            "node_selector": _LABELS,
            "tolerations": s.optional(s.list_of(_TAINT)),
            "required_node_affinity": s.optional(s.list_of(s.optional(s.list_of(_RULE)))),
        },
    )
)
EVICTOR = s.record(
    {"node_fit": s.optional(s.flag), "max_pods_to_evict_per_node": s.optional(COUNT)},
)
