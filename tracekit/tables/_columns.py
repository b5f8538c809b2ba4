"""Columns that several tables share."""

from tracekit.tables import Column, Table

#: The columns that name a resource and the unit of its amounts.
RESOURCE = Column(
    name="resource",
    kind="text",
    unit="",
    description="cpu, memory, disk, disk_io, net_in, net_out, gpu, pods, ...",
)
UNIT = Column(
    name="unit",
    kind="text",
    unit="",
    description="cores, bytes, bytes/s, kbit/s, count, or fraction.",
)
_AMOUNT = (
    "In use. Where files overlap in time a sample stands once for each (`sample_in_two_files` in"
    " `check`)."
)


def amounts_of(entity: str, plural: str) -> Table:
    """The table of use of entities of a kind, of any resource."""
    order = (entity, "resource", "time_ms")
    return Table(
        name=f"{entity}_amount",
        title=f"Use of {plural} in amounts, of any resource",
        grain=f"{entity} x resource x sample",
        columns=(
            Column(name="time_ms", kind="time", unit="ms", description="Of the sample."),
            Column(name=entity, kind="id", unit="", description=f"The {entity}.", entity=entity),
            RESOURCE,
            Column(name="amount", kind="number", unit="see unit", description=_AMOUNT, minimum=0),
            UNIT,
        ),
        key=order,
        order=order,
        entity=entity,
        step=True,
    )


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
