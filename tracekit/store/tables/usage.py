"""What is measured over time: use, rates and calls."""

from tracekit.store.tables import Column, Table
from tracekit.store.tables._columns import CONTAINER, SERVICE_OF_CONTAINER, TIME_MS

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
