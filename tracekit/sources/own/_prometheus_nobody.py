"""Series that cannot be assigned to a container or node."""

from tracekit.sources._cluster import Broken
from tracekit.sources.own._prometheus_metrics import USES
from tracekit.sources.own._prometheus_series import Series


def nobody(series: Series, label: str) -> Broken:
    """A series without the label that would say it."""
    return Broken(
        table=f"{USES[series.name].fills}_amount",
        line=series.line,
        reason=f"has no label {label}: it cannot be told whose use it is",
        text=f"{series.name}{dict(series.labels)}"[:200],
    )


def unknown_node(series: Series, node: str) -> Broken:
    """A series of a node that no file describes."""
    return Broken(
        table="node_amount",
        line=series.line,
        column="node",
        reason=f"is '{node}', which no file describes, neither by its name nor by an address",
        text=f"{series.name}{dict(series.labels)}"[:200],
    )
