"""Facts of what a report is made of where no run concluded them: a store, a binding, a study."""

from collections.abc import Iterator
from dataclasses import replace

from tracekit.answer.claims.every import claim_facts
from tracekit.answer.interference import facts_of_binding
from tracekit.answer.trace import facts_of_ledger, facts_of_tables
from tracekit.base.facts import Answer, Fact, Followup, answer_of
from tracekit.report.data import Data
from tracekit.report.notebook import conclusion_of

#: Zones that have a correlation.
_ZONES = ("A", "B", "C")


def facts_of_store(data: Data) -> Iterator[Fact]:
    """The span first, then tables, use, zones, defects and call graphs."""
    if not data.has_store:
        return
    yield from facts_of_tables((data.info or {}).get("tables", {}))
    for row in data.query("usage/node_vs_container").iter_rows(named=True):
        if row["level"] == "node" and row["mean"] is not None:
            yield Fact(
                kind="utilization",
                subject="nodes",
                value=row["mean"],
                high=row["peak"],
                unit="fraction",
                about={"resource": {"cpu": "CPU"}.get(row["resource"], row["resource"])},
            )
    for row in data.query("usage/zone_summary").iter_rows(named=True):
        if row["zone"] in _ZONES:
            yield Fact(kind="zone", subject=row["zone"], value=row["node_share"], unit="fraction")
    yield from facts_of_ledger(data.query("quality/ledger").iter_rows(named=True))


def answer_shown(data: Data) -> Answer:
    """The answer that was concluded, with facts of the kinds that it lacks; else a study's own."""
    own = [*facts_of_store(data), *_bound(data), *claim_facts(data.frame)]
    given = data.answer or _answer_of_study(data)
    if given is None:
        return answer_of(own, _next_of_store(data))
    stated = {one.kind for one in given.facts}
    # what others concluded is for their pages, and no part of the decision
    more = (replace(one, rank=max(2, one.weight)) for one in own if one.kind not in stated)
    return Answer(facts=(*given.facts, *more), next=given.next)


def _bound(data: Data) -> Iterator[Fact]:
    """What ways to bind to vCPUs save."""
    differences, summary = data.result("bind/differences"), data.result("bind/summary")
    if not differences.is_empty() and not summary.is_empty():
        facts = facts_of_binding(differences, summary)
        yield from (one for one in facts if one.kind == "binding")


def _answer_of_study(data: Data) -> Answer | None:
    if data.run is not None or data.has_store:
        return None
    answers = (conclusion_of(one) for one in data.studies.values())
    return next((one for one in answers if one is not None), None)


def _next_of_store(data: Data) -> Iterator[Followup]:
    """What to do with a store, or with a replay of it, that nothing was decided on."""
    if data.has_store:
        yield Followup(
            question="run", command="run", arguments={"SRC": data.paths.store, "out": "out"}
        )
