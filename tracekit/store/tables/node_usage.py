"""Use of each node over time."""

from tracekit.store.tables import Column, Table
from tracekit.store.tables._columns import TIME_MS

TABLE = Table(
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
