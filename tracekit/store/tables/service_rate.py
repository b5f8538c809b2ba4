"""Call rates and response times of each container over time."""

from tracekit.store.tables import Column, Table
from tracekit.store.tables._columns import CONTAINER, SERVICE_OF_CONTAINER, TIME_MS

TABLE = Table(
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
