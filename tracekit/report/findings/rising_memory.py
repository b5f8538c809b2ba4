"""Nodes whose memory rises all the time, and when it will be full."""

from tracekit.analysis.plain import rising
from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.words import count


def _find(data: Data) -> Said | None:
    nodes = data.query("usage/memory_rise")
    if nodes.is_empty():
        return None
    verb = "rises" if nodes.height == 1 else "rise"
    return Said(
        value=f"{nodes.height:,}",
        sentence=f"of {count(data.query('usage/node_profile').height, 'node')} {verb} steadily in"
        f" memory, as a leak does: {rising(nodes.rows(named=True))}.",
        page="trace",
    )


FINDING = Finding(order=20, find=_find)
