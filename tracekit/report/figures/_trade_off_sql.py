"""The SQL beneath the figure of nodes against overload."""

from tracekit.replay.answer.overload import OVERLOAD, node_steps
from tracekit.replay.answer.preferred import NODES
from tracekit.report.data import Data
from tracekit.report.figures._run_sql import Shown
from tracekit.report.trade_off import measured


def shown(data: Data) -> list[Shown]:
    """What a mark shows, for its SQL; nothing where a measure is not known."""
    if data.run is None or not measured(data):
        return []
    nodes = Shown(measure=NODES, mean="nodes", low="nodes_low", high="nodes_high")
    share = Shown(
        measure=OVERLOAD,
        mean="overload_share",
        low="overload_low",
        high="overload_high",
        divided_by=max(node_steps(data.run["workload"]), 1.0),
    )
    return [nodes, share]
