"""Columns that mean the same in several tables."""

from tracekit.tables import Column

TIME_MS = Column(
    name="time_ms", kind="time", unit="ms", description="Time since trace start.", minimum=0
)

CONTAINER = Column(
    name="container", kind="id", unit="", entity="container", description="The container."
)

SERVICE_OF_CONTAINER = Column(
    name="service",
    kind="id",
    unit="",
    entity="service",
    description="The service the container belongs to.",
    required=False,
)
