"""How hot the hottest node gets under the best policy."""

from __future__ import annotations

from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.report.measures import bound_of, complete, present, values
from tracekit.report.policies import tested
from tracekit.report.words import listed, percent


def _find(data: Data) -> Said | None:
    summary = data.replay("summary")
    if summary.is_empty():
        return None
    measure = next(m for m in present(summary) if m.name == "cpu_max_fraction")
    found = values(summary, measure, complete(summary) or tested(summary))
    if not found:
        return None
    low = min(found.values())
    names = listed([name for name, value in found.items() if value - low <= 1e-9])
    observed = values(summary, measure, [OBSERVED]).get(OBSERVED)
    bound = bound_of(summary, measure.name)
    against = f"; in production it was {percent(observed, 1)}" if observed is not None else ""
    least = f", and no placement can be below {percent(bound, 1)}" if bound is not None else ""
    return Said(
        value=percent(low, 1),
        sentence=f"CPU on the fullest node is the lowest that any policy reached, by"
        f" {names}{against}{least}.",
        page="replay",
    )


FINDING = Finding(order=20, find=_find)
