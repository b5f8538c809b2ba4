"""Call rates and response times of each container over time."""

from tracekit.tables import Column, Table

TABLE = Table(
    name="service_rate",
    title="Call rates and response times of each container over time",
    grain="container x 60 s x metric",
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
