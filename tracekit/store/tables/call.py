"""Calls between services; a remote call is recorded by both its ends."""

from tracekit.store.tables import Column, Table
from tracekit.store.tables._columns import TIME_MS

TABLE = Table(
    name="call",
    title="Calls between services, as recorded by either end",
    grain="one record of one call",
    columns=(
        TIME_MS,
        Column(name="trace", kind="id", unit="", entity="trace", description="The trace."),
        Column(
            name="rpc_id",
            kind="text",
            unit="",
            description="Position of the call in its trace, as a path: 0.1.3.",
        ),
        Column(
            name="upstream",
            kind="id",
            unit="",
            entity="service",
            description="The service that calls.",
            required=False,
        ),
        Column(
            name="rpc_type",
            kind="text",
            unit="",
            description="rpc, http, mq, mc (memcached), db or userDefined.",
            required=False,
        ),
        Column(
            name="downstream",
            kind="id",
            unit="",
            entity="service",
            description="The service that is called.",
            required=False,
        ),
        Column(
            name="interface",
            kind="id",
            unit="",
            entity="interface",
            description="The interface that is called; rpc and http only.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="response_time_ms",
            kind="number",
            unit="ms",
            description="Response time; negative when recorded by the called end.",
            required=False,
        ),
    ),
    key=(),
    order=("trace", "time_ms", "rpc_id"),
    entity="trace",
    step=False,
)
