"""Which services may share a node."""

from tracekit.store.tables import Column, Table

TABLE = Table(
    name="sharing_rule",
    title="How many of a service may run beside another",
    grain="pair of services",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="From when on."),
        Column(
            name="holder",
            kind="id",
            unit="",
            description="The service on the node.",
            entity="service",
        ),
        Column(
            name="guest",
            kind="id",
            unit="",
            description="The service that would join it.",
            entity="service",
        ),
        Column(
            name="most",
            kind="number",
            unit="count",
            description="How many of the guest may run beside it.",
            minimum=0,
        ),
    ),
    key=("holder", "guest", "time_ms"),
    order=("holder", "guest", "time_ms"),
    entity="service",
    step=False,
)
