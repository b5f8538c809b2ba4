"""What is measured over time: use, rates and calls."""

from tracekit.store.tables import (
    CONTAINER,
    RESOURCE,
    SERVICE_OF_CONTAINER,
    TIME_MS,
    UNIT,
    Column,
    Table,
    amounts_of,
    parts_of_requests,
)

node_usage = Table(
    name="node_usage",
    title="Use of each node over time",
    grain="node x 30 s",
    columns=(
        TIME_MS,
        Column(name="node", kind="id", unit="", entity="node", description="The node."),
        Column(
            name="cpu_fraction",
            kind="number",
            unit="0..1",
            description="CPU in use / CPU capacity of the node.",
            minimum=0,
            usual_maximum=1,
        ),
        Column(
            name="memory_fraction",
            kind="number",
            unit="0..1",
            description="Memory in use / memory capacity of the node.",
            minimum=0,
            usual_maximum=1,
        ),
    ),
    key=("node", "time_ms"),
    order=("node", "time_ms"),
    entity="node",
    step=True,
)


container_usage = Table(
    name="container_usage",
    title="Use of each container over time",
    grain="container x 30 s",
    columns=(
        TIME_MS,
        SERVICE_OF_CONTAINER,
        CONTAINER,
        Column(
            name="node",
            kind="id",
            unit="",
            entity="node",
            description="The node the container runs on.",
            required=False,
        ),
        Column(
            name="cpu_fraction",
            kind="number",
            unit="0..1",
            description="CPU in use / CPU the container asked for; may exceed 1.",
            minimum=0,
            usual_maximum=2,
        ),
        Column(
            name="memory_fraction",
            kind="number",
            unit="0..1",
            description="Memory in use / memory the container asked for.",
            minimum=0,
            usual_maximum=1,
        ),
    ),
    key=("node", "container", "time_ms"),
    order=("node", "container", "time_ms"),
    entity="container",
    step=True,
)


service_rate = Table(
    name="service_rate",
    title="Call rates and response times of each container over time",
    grain="container x 60 s x metric",
    columns=(
        TIME_MS,
        SERVICE_OF_CONTAINER,
        CONTAINER,
        Column(
            name="metric",
            kind="text",
            unit="",
            description="What was measured: providerRPC_MCR, providerRPC_RT, ...",
        ),
        Column(
            name="value",
            kind="number",
            unit="calls/s or ms",
            description="Calls per second for *_MCR, milliseconds for *_RT, mean over the minute.",
        ),
    ),
    key=("service", "container", "metric", "time_ms"),
    order=("service", "container", "metric", "time_ms"),
    entity="container",
    step=True,
)


call = Table(
    name="call",
    title="Calls between services, as recorded by either end",
    grain="one record of one call",
    columns=(
        TIME_MS,
        Column(name="trace", kind="id", unit="", entity="trace", description="The trace."),
        Column(
            name="rpc_id",
            kind="text",
            unit="",
            description="Position of the call in its trace, as a path: 0.1.3.",
        ),
        Column(
            name="upstream",
            kind="id",
            unit="",
            entity="service",
            description="The service that calls.",
            required=False,
        ),
        Column(
            name="rpc_type",
            kind="text",
            unit="",
            description="rpc, http, mq, mc (memcached), db or userDefined.",
            required=False,
        ),
        Column(
            name="downstream",
            kind="id",
            unit="",
            entity="service",
            description="The service that is called.",
            required=False,
        ),
        Column(
            name="interface",
            kind="id",
            unit="",
            entity="interface",
            description="The interface that is called; rpc and http only.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="response_time_ms",
            kind="number",
            unit="ms",
            description="Response time; negative when recorded by the called end.",
            required=False,
        ),
    ),
    key=(),
    order=("trace", "time_ms", "rpc_id"),
    entity="trace",
    step=False,
)


# Sizes and use of resources, in amounts.

container_amount = amounts_of("container", "containers")


node_amount = amounts_of("node", "nodes")


container_resource = parts_of_requests(
    "container_resource",
    "Requests and limits of containers, resource by resource",
    {"request": "What is reserved for it.", "limit": "What it may use at most."},
)


node_resource = Table(
    name="node_resource",
    title="Capacity of nodes, resource by resource",
    grain="node x resource x time of change",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="From when on."),
        Column(name="node", kind="id", unit="", description="The node.", entity="node"),
        RESOURCE,
        Column(
            name="cell",
            kind="text",
            unit="",
            description="The NUMA cell that has it, 0, 1, ...; empty for the whole node.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="amount",
            kind="number",
            unit="see unit",
            description="What pods may use.",
            minimum=0,
        ),
        UNIT,
    ),
    key=("node", "resource", "cell", "time_ms"),
    order=("node", "resource", "cell", "time_ms"),
    entity="node",
    step=False,
)


fixed_request = parts_of_requests(
    "fixed_request",
    "The part of requests that other requests of a pod's containers do not change",
    {
        "init": "What its init containers need; less is never reserved for it.",
        "overhead": "What is reserved on top of its containers, init containers too.",
        "own_request": "What its containers ask for together while they run.",
        "own_limit": "What these may use at most together.",
    },
)


# What ingest and a shadow keep besides.

_NAME = "series"

counter_end = Table(
    name="counter_end",
    title="The last sample of each scraped counter in a file, from which a later file goes on",
    grain="file x series",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="Of the last sample."),
        Column(
            name=_NAME,
            kind="text",
            unit="",
            description="A number for the metric and its labels, in hexadecimal.",
        ),
        Column(
            name="value",
            kind="number",
            unit="as counted",
            description="The counter at that time: seconds of CPU, bytes.",
            minimum=0,
        ),
        Column(name="first_ms", kind="number", unit="ms", description="Time of the first sample."),
    ),
    key=(_NAME, "time_ms"),
    order=(_NAME, "time_ms"),
    entity="",
    step=False,
)


shadow_choice = Table(
    name="shadow_choice",
    title="Nodes that policies would have chosen in a live cluster",
    grain="decision x policy",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="Of the decision."),
        CONTAINER,
        Column(
            name="service", kind="id", unit="", description="The pod's service.", entity="service"
        ),
        Column(
            name="policy",
            kind="text",
            unit="",
            description="The policy; `production` is what the cluster's scheduler did.",
        ),
        Column(name="node", kind="id", unit="", description="The node chosen.", entity="node"),
        Column(
            name="cpu_fraction",
            kind="number",
            unit="fraction",
            description="CPU of the node in use (requested, where not measured) and the pod's.",
            minimum=0,
        ),
        Column(
            name="memory_fraction",
            kind="number",
            unit="fraction",
            description="The same of memory.",
            minimum=0,
        ),
    ),
    key=("time_ms", "container", "policy"),
    order=("time_ms", "container", "policy"),
    entity="container",
    step=False,
)


sharing_rule = Table(
    name="sharing_rule",
    title="How many of a service may run beside another",
    grain="pair of services",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="From when on."),
        Column(
            name="holder",
            kind="id",
            unit="",
            description="The service on the node.",
            entity="service",
        ),
        Column(
            name="guest",
            kind="id",
            unit="",
            description="The service that would join it.",
            entity="service",
        ),
        Column(
            name="most",
            kind="number",
            unit="count",
            description="How many of the guest may run beside it.",
            minimum=0,
        ),
    ),
    key=("holder", "guest", "time_ms"),
    order=("holder", "guest", "time_ms"),
    entity="service",
    step=False,
)
