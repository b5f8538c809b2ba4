"""What containers ask for."""

from tracekit.tables import Column, Table
from tracekit.tables._columns import RESOURCE, UNIT

TABLE = Table(
    name="container_resource",
    title="Requests and limits of containers, resource by resource",
    grain="container x resource x time of change",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="From when on."),
        Column(
            name="container", kind="id", unit="", description="The container.", entity="container"
        ),
        RESOURCE,
        Column(
            name="request",
            kind="number",
            unit="see unit",
            description="What is reserved for it.",
            required=False,
            often_absent=True,
            minimum=0,
        ),
        Column(
            name="limit",
            kind="number",
            unit="see unit",
            description="What it may use at most.",
            required=False,
            often_absent=True,
            minimum=0,
        ),
        UNIT,
    ),
    key=("container", "resource", "time_ms"),
    order=("container", "resource", "time_ms"),
    entity="container",
    step=False,
)
