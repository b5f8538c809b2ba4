"""How many nodes the containers need."""

from __future__ import annotations

from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.report.measures import bound_of, complete, present, values
from tracekit.report.words import count, listed


def _find(data: Data) -> Said | None:
    summary = data.replay("summary")
    if summary.is_empty() or data.run is None:
        return None
    measure = next(m for m in present(summary) if m.name == "nodes_used_max")
    found = values(summary, measure, complete(summary))
    if not found:
        return None
    low = int(min(found.values()))
    names = listed([name for name, value in found.items() if value == low])
    bound = bound_of(summary, measure.name)
    least = f"; their requests need at least {bound:.0f}" if bound is not None else ""
    return Said(
        value=f"{low:,}",
        sentence=f"of {count(data.run['workload']['nodes'], 'node')} are enough for all containers,"
        f" under {names}{least}.",
        page="replay",
    )


FINDING = Finding(order=90, find=_find)
