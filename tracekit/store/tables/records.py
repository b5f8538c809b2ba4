"""What ingest and a shadow keep besides."""

from tracekit.store.tables import Column, Table
from tracekit.store.tables._columns import CONTAINER

_NAME = "series"

counter_end = Table(
    name="counter_end",
    title="The last sample of each scraped counter in a file, from which a later file goes on",
    grain="file x series",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="Of the last sample."),
        Column(
            name=_NAME,
            kind="text",
            unit="",
            description="A number for the metric and its labels, in hexadecimal.",
        ),
        Column(
            name="value",
            kind="number",
            unit="as counted",
            description="The counter at that time: seconds of CPU, bytes.",
            minimum=0,
        ),
        Column(name="first_ms", kind="number", unit="ms", description="Time of the first sample."),
    ),
    key=(_NAME, "time_ms"),
    order=(_NAME, "time_ms"),
    entity="",
    step=False,
)


shadow_choice = Table(
    name="shadow_choice",
    title="Nodes that policies would have chosen in a live cluster",
    grain="decision x policy",
    columns=(
        Column(name="time_ms", kind="time", unit="ms", description="Of the decision."),
        CONTAINER,
        Column(
            name="service", kind="id", unit="", description="The pod's service.", entity="service"
        ),
        Column(
            name="policy",
            kind="text",
            unit="",
            description="The policy; `production` is what the cluster's scheduler did.",
        ),
        Column(name="node", kind="id", unit="", description="The node chosen.", entity="node"),
        Column(
            name="cpu_fraction",
            kind="number",
            unit="fraction",
            description="CPU of the node in use (requested, where not measured) and the pod's.",
            minimum=0,
        ),
        Column(
            name="memory_fraction",
            kind="number",
            unit="fraction",
            description="The same of memory.",
            minimum=0,
        ),
    ),
    key=("time_ms", "container", "policy"),
    order=("time_ms", "container", "policy"),
    entity="container",
    step=False,
)


sharing_rule = Table(
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
