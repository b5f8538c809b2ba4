"""What policies would have chosen for pods of a live cluster, and what its scheduler did."""

from tracekit.store.tables import Column, Table
from tracekit.store.tables._columns import CONTAINER

TABLE = Table(
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
