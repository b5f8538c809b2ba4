"""Sizes and use of resources, in amounts."""

from tracekit.store.tables import Column, Table
from tracekit.store.tables._columns import RESOURCE, UNIT, amounts_of, parts_of_requests

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
