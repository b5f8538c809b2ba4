"""How much of each resource a node has."""

from tracekit.store.tables import Column, Table
from tracekit.store.tables._columns import RESOURCE, UNIT

TABLE = Table(
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
