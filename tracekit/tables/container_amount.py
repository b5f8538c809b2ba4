"""What containers use, in amounts."""

from tracekit.tables import Column, Table

TABLE = Table(
    name="container_amount",
    title="Use of containers in amounts, of any resource",
    grain="container x resource x sample",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="Of the sample."),
        Column(
            name="container", kind="id", unit="", description="The container.", entity="container"
        ),
        Column(
            name="resource",
            kind="text",
            unit="",
            description="cpu, memory, disk, disk_io, net_in, net_out, gpu, pods, ...",
        ),
        Column(name="amount", kind="number", unit="see unit", description="In use.", minimum=0),
        Column(
            name="unit",
            kind="text",
            unit="",
            description="cores, bytes, bytes/s, kbit/s, count, or fraction.",
        ),
    ),
    key=("container", "resource", "time_ms"),
    order=("container", "resource", "time_ms"),
    entity="container",
    step=True,
)
