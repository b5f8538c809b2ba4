"""Which policy balanced the nodes best, and by how much."""

from __future__ import annotations

from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.report.measures import alike, bound_of, complete, present, values
from tracekit.report.policies import tested
from tracekit.report.words import listed, number, percent


def _find(data: Data) -> Said | None:
    summary = data.replay("summary")
    if summary.is_empty():
        return None
    policies = complete(summary) or tested(summary)
    measure = next(m for m in present(summary) if m.name == "imbalance_mean")
    found = values(summary, measure, policies)
    if not found:
        return None
    low = min(found.values())
    names = [name for name, value in found.items() if value - low <= 1e-9]
    if len(found) > 1 and any(len(group) == len(found) for group in alike(summary)):
        sentence = f"is the mean imbalance under all {len(found)} policies: nothing separates them."
        return Said(value=number(low), sentence=sentence, page="replay")
    observed = values(summary, measure, [OBSERVED]).get(OBSERVED)
    bound = bound_of(summary, measure.name)
    against = f", {_against(low, observed)}" if observed else ""
    least = f"; no placement can be below {number(bound)}" if bound is not None else ""
    return Said(
        value=number(low),
        sentence=f"is the lowest mean imbalance, by {listed(names)}{against}{least}.",
        page="replay",
    )


def _against(value: float, observed: float) -> str:
    change = value / observed - 1
    if abs(change) < 0.0005:
        return f"the same as production\u2019s own placement ({number(observed)})"
    way = "below" if change < 0 else "above"
    return f"{percent(abs(change))} {way} production\u2019s own placement ({number(observed)})"


FINDING = Finding(order=10, find=_find)
