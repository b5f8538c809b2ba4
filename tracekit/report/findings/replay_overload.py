"""How often nodes were asked for more than they have."""

from __future__ import annotations

from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.report.measures import complete, present, values
from tracekit.report.policies import label, tested
from tracekit.report.words import listed


def _find(data: Data) -> Said | None:
    summary = data.replay("summary")
    if summary.is_empty():
        return None
    measure = next(m for m in present(summary) if m.name == "overloaded_node_steps")
    policies = complete(summary) or tested(summary)
    found = values(summary, measure, [OBSERVED, *policies])
    worst = max(found.values(), default=0)
    if not found:
        return None
    if not worst:
        return Said(
            value="0",
            sentence="samples of a node are overloaded, under any policy and in production.",
            page="replay",
        )
    names = listed([label(name) for name, value in found.items() if value == worst])
    low = min(found.values())
    calm = listed([label(name) for name, value in found.items() if value == low])
    rest = "" if low == worst else f"; the fewest are {low:,}, under {calm}"
    return Said(
        value=f"{worst:,}",
        sentence=f"samples of a node are overloaded under {names}{rest}.",
        page="replay",
    )


FINDING = Finding(order=80, find=_find)
