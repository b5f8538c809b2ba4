"""What a request keeps, whatever the containers of a pod ask for, and what these ask for."""

from tracekit.tables import Column, Table
from tracekit.tables._columns import RESOURCE, UNIT

TABLE = Table(
    name="fixed_request",
    title="The part of requests that other requests of a pod's containers do not change",
    grain="container x resource x time of change",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="From when on."),
        Column(
            name="container", kind="id", unit="", description="The container.", entity="container"
        ),
        RESOURCE,
        Column(
            name="init",
            kind="number",
            unit="see unit",
            description="What its init containers need; less is never reserved for it.",
            required=False,
            often_absent=True,
            minimum=0,
        ),
        Column(
            name="overhead",
            kind="number",
            unit="see unit",
            description="What is reserved on top of its containers, init containers too.",
            required=False,
            often_absent=True,
            minimum=0,
        ),
        Column(
            name="own_request",
            kind="number",
            unit="see unit",
            description="What its containers ask for together while they run.",
            required=False,
            often_absent=True,
            minimum=0,
        ),
        Column(
            name="own_limit",
            kind="number",
            unit="see unit",
            description="What these may use at most together.",
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
