"""What nodes there are, and what sets them apart."""

from tracekit.store.tables import Column, Table

#: The taints that Kubernetes gives a node by the status of its condition Ready.
UNREADY_TAINTS = {
    "False": "node.kubernetes.io/not-ready",
    "Unknown": "node.kubernetes.io/unreachable",
}
TABLE = Table(
    name="node",
    title="Nodes: where they stand, labels, taints, price",
    grain="state of a node from a time on",
    columns=(
        Column(
            name="time_ms",
            kind="time",
            unit="ms",
            description="From when on the node is like this.",
        ),
        Column(name="node", kind="id", unit="", description="The node.", entity="node"),
        Column(
            name="position",
            kind="number",
            unit="rank",
            description="Its place in the order of the source.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="state",
            kind="text",
            unit="",
            description="ready, closed (takes nothing new) or gone.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="rack",
            kind="text",
            unit="",
            description="The rack or network switch.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="domain",
            kind="text",
            unit="",
            description="The fault domain.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="zone",
            kind="text",
            unit="",
            description="The availability zone.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="platform",
            kind="text",
            unit="",
            description="The kind of machine.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="labels",
            kind="text",
            unit="",
            description="Labels, a JSON object.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="taints",
            kind="text",
            unit="",
            description="Taints, a JSON list of key, value, effect.",
            required=False,
            often_absent=True,
        ),
        Column(
            name="price_per_hour",
            kind="number",
            unit="currency/h",
            description="What the node costs.",
            required=False,
            often_absent=True,
            minimum=0,
        ),
    ),
    key=("node", "time_ms"),
    order=("node", "time_ms"),
    entity="node",
    step=False,
)
