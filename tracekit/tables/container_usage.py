"""Use of each container over time."""

from tracekit.tables import Column, Table

TABLE = Table(
    name="container_usage",
    title="Use of each container over time",
    grain="container x 30 s",
    columns=(
        Column(
            name="time_ms", kind="time", unit="ms", description="Time since trace start.", minimum=0
        ),
        Column(
            name="service",
            kind="id",
            unit="",
            entity="service",
            description="The service the container belongs to.",
            required=False,
        ),
        Column(
            name="container", kind="id", unit="", entity="container", description="The container."
        ),
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
