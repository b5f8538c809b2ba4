"""The SQL beneath the figure of nodes against overload."""

from tracekit.replay.answer.overload import OVERLOAD, node_steps
from tracekit.report.data import Data
from tracekit.report.figures._run_sql import Shown, beside_nodes


def sql(data: Data) -> list[tuple[str, str]]:
    """What a mark shows; nothing where the run does not know it."""
    samples = max(node_steps((data.run or {}).get("workload", {})), 1.0)
    names = {"mean": "overload_share", "low": "overload_low", "high": "overload_high"}
    return beside_nodes(data, Shown(measure=OVERLOAD, **names, divided_by=samples))
