"""Columns that several tables share."""

from collections.abc import Mapping

from tracekit.store.tables import Column, Table

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
    "In use. Of samples that stand in two files the first file's count (`sample_in_two_files` and"
    " `other_sample_in_two_files` in `check`)."
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


def parts_of_requests(name: str, title: str, parts: Mapping[str, str]) -> Table:
    """A table of what containers ask for, from a time on; ``parts``: descriptions of its amounts.

    Many containers state none of them.
    """
    order = ("container", "resource", "time_ms")
    amounts = (
        Column(
            name=part,
            kind="number",
            unit="see unit",
            description=description,
            required=False,
            often_absent=True,
            minimum=0,
        )
        for part, description in parts.items()
    )
    since = Column(name="time_ms", kind="time", unit="ms", description="From when on.")
    return Table(
        name=name,
        title=title,
        grain="container x resource x time of change",
        columns=(since, CONTAINER, RESOURCE, *amounts, UNIT),
        key=order,
        order=order,
        entity="container",
        step=False,
    )
