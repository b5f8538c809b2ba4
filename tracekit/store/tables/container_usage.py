"""Use of each container over time."""

from tracekit.store.tables import Column, Table
from tracekit.store.tables._columns import CONTAINER, SERVICE_OF_CONTAINER, TIME_MS

TABLE = Table(
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
