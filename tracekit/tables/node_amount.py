"""What nodes use, in amounts."""

from tracekit.tables import Column, Table

TABLE = Table(
    name="node_amount",
    title="Use of nodes in amounts, of any resource",
    grain="node x resource x sample",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="Of the sample."),
        Column(name="node", kind="id", unit="", description="The node.", entity="node"),
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
    key=("node", "resource", "time_ms"),
    order=("node", "resource", "time_ms"),
    entity="node",
    step=True,
)
