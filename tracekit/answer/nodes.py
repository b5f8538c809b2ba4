"""The answer of a study of the fewest nodes: what ``nodes`` prints and the report shows."""

from collections.abc import Iterator, Sequence

import polars as pl

from tracekit.answer.counts import (
    Case,
    Count,
    Fullest,
    best,
    counts_of,
    detail_facts,
    fullest_fact,
    needed_fact,
)
from tracekit.answer.decide import goes
from tracekit.answer.production import broken_facts, ceiling_facts, facts_of_use
from tracekit.facts import Answer, Fact, Followup, Scalar, answer_of
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import words_of
from tracekit.replay.policy.entrant import USUAL
from tracekit.study import Study
from tracekit.units import HOURS_PER_MONTH

#: Reasons of special nodes that are no resource.
_REASONS = ("tainted", "pinned", "no_use", "control_plane")


def answer_of_nodes(study: Study, store: str = "STORE", out: str = "") -> Answer:
    """The facts of a study of the fewest nodes, and what to do next.

    Parameters
    ----------
    store, out : str
        The store and the folder of the study as commands name them.
    """
    case: Case = case_of(study)
    counts = counts_of(study, case)
    usual = counts_of(study, "no_more_often") if "policies_as_production" in study.frames else []
    in_use = str(study.about.get("subject") or USUAL)
    by_cost = study.about.get("least") == "cost"
    chosen = best(counts, in_use, by_cost=by_cost)
    relative = best(usual, in_use, by_cost=by_cost) if chosen is None else None
    acted = chosen or relative
    facts = [
        _verdict(study, acted),
        *_production_facts(study),
        *ceiling_facts(study.about.get("ceiling", {})),
        *_of_counts(counts, acted),
        *_of_counts(usual, acted),
        *money_facts(study, acted),
        *special_facts(study),
        *_sure(acted),
    ]
    return answer_of(facts, _next(study, acted, store, out))


def _production_facts(study: Study) -> Iterator[Fact]:
    """What comes before all counts: full nodes in production, and requests far from use."""
    load = study.about["workload"]
    use = load.get("production")
    if use is None or study.about["scale"] != 1:
        return
    today = [Fullest(**one) for one in use["today"]]
    yield from broken_facts(use["broken"], today, use["ceiling"], load["nodes"])
    yield from facts_of_use(use["use_over_requested"])


def case_of(study: Study) -> Case:
    """The case of a study: counted with recorded or with recommended requests."""
    known = study.about["workload"].get("quantities", {})
    return "recommended" if known.get("requests") == "chosen" else "recorded"


def _verdict(study: Study, count: Count | None) -> Fact:
    production = bool(study.about.get("observed"))
    if count is None:
        because = "none_holds"
    elif count.added:
        because = "more_nodes"
    elif count.case == "no_more_often":
        because = "above_ceiling_fewer"
    elif goes(count):
        because = "fewer_nodes" if production else "needs_fewest"
    else:
        because = "all_stay"
    return Fact(
        kind="verdict",
        subject="" if count is None else count.policy,
        value=None if count is None else count.nodes,
        unit="nodes",
        because=because,
        about={
            "of": study.about["nodes"],
            "added": None if count is None else count.added or None,
            "requests": "recorded" if count is None else count.requests,
            "case": None if count is None else count.case,
        },
    )


def _of_counts(counts: Sequence[Count], acted: Count | None) -> Iterator[Fact]:
    """What each policy needs; of the one that is acted on all that is known."""
    for one in counts:
        yield needed_fact(one)
        if one is not acted:
            continue
        for full in one.fullest:
            yield fullest_fact(full, one.case, one.requests)
        yield from detail_facts(one)


def money_facts(study: Study, count: Count | None) -> Iterator[Fact]:
    """What the nodes that can go cost, or that their prices are unknown."""
    if count is None or not goes(count):
        return
    row = study.frames["policies"].filter(policy=count.policy).row(0, named=True)
    every = row.get("cost_all_per_hour")
    if every is None or count.cost_per_hour is None:
        yield Fact(kind="price_unknown")
        return
    saved = every - count.cost_per_hour
    yield Fact(
        kind="saving",
        value=saved,
        unit="per_hour",
        about={
            "case": count.case,
            "share_fraction": saved / every if every else None,
            "a_month_per_month": saved * HOURS_PER_MONTH,
            "currency": study.about["workload"].get("currency") or None,
        },
    )


def special_facts(study: Study) -> Iterator[Fact]:
    """The nodes that stay for a reason of their own, by reason."""
    nodes = study.frames["nodes"]
    if nodes.is_empty():
        return
    first = nodes.filter(policy=nodes["policy"][0]).filter(pl.col("special").is_not_null())
    for reason, many in first.group_by("special").len().sort("special").iter_rows():
        yield Fact(
            kind="special_nodes",
            subject=reason if reason in _REASONS else words_of(reason.removesuffix("_milli")),
            value=many,
            unit="nodes",
            because=reason if reason in _REASONS else "resource",
        )


def _sure(count: Count | None) -> Iterator[Fact]:
    if count is None or count.nodes is None:
        return
    orders = len(count.by_order)
    yield Fact(
        kind="confidence",
        subject=count.policy,
        value=count.nodes,
        unit="nodes",
        because="one_order" if orders == 1 else "few_orders" if orders < FEWEST else "",
        about={"held": orders, "orders": orders, "needed": FEWEST},
    )


def _next(study: Study, count: Count | None, store: str, out: str) -> Iterator[Followup]:
    if out:
        page = {"SOURCE": out, "out": f"{out}.html"}
        yield Followup(question="report", command="report", arguments=page)
    if count is None or study.about["workload"].get("loader"):
        return
    if count.case == "recorded":
        yield Followup(question="requests", command="requests", arguments={"STORE": store})
    more: dict[str, Scalar] = {"STORE": store, "policy": count.policy, "scale": 1.2}
    yield Followup(question="nodes", command="nodes", arguments=more)
