"""The answer of a study of the fewest nodes, for the command ``nodes`` and the report."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from tracekit.answer.counts import (
    FULLEST,
    Case,
    Count,
    Fullest,
    best,
    counts_of,
    detail_facts,
    fullest_fact,
    needed_fact,
    saving_fact,
)
from tracekit.answer.decide import can_go, requests_first
from tracekit.answer.fewest.cluster import ZONE
from tracekit.answer.fewest.frames import BARRED_BY
from tracekit.answer.fewest.trials import zones_on
from tracekit.answer.production import broken_facts, ceiling_facts, facts_of_use
from tracekit.base.facts import Answer, Fact, Followup, Scalar, answer_of
from tracekit.base.study import Study
from tracekit.base.words import and_more, words_of
from tracekit.policy.entrant import USUAL
from tracekit.replay.chance import FEWEST
from tracekit.replay.measures import find_measure

#: Reasons of special nodes, other than a resource.
_REASONS = ("tainted", "pinned", "no_use", "control_plane")


def answer_of_nodes(study: Study, store: str = "STORE", out: str = "") -> Answer:
    """Return the facts of a study of the fewest nodes, and what to do next.

    Parameters
    ----------
    store, out : str
        The store and the folder of the study as commands name them.
    """
    case: Case = case_of(study)
    counts = counts_of(study, case)
    relative = counts_of(study, "no_more_often") if "policies_as_production" in study.frames else []
    # a count of further nodes says nothing of production, which has none
    usual = [one for one in relative if one.nodes is not None and not one.added]
    in_use = str(study.about.get("subject") or USUAL)
    by_cost = study.about.get("least") == "cost"
    chosen = best(counts, in_use, by_cost=by_cost)
    rarely = best(usual, in_use, by_cost=by_cost)
    acted = rarely if can_go(rarely) and (chosen is None or chosen.added) else chosen
    facts = [
        _verdict(study, acted),
        *_production_facts(study),
        *ceiling_facts(study.about.get("ceiling", {})),
        *_of_counts(counts, acted),
        *_of_counts(usual, acted),
        *zone_facts(study, acted),
        *money_facts(study, acted),
        *drain_facts(study, acted),
        *special_facts(study),
        *sure_facts(acted, varying=bool(study.about["repeats_cover"])),
        *anew_facts(acted),
    ]
    return answer_of(facts, _next(study, acted, store, out))


def _production_facts(study: Study) -> Iterator[Fact]:
    """Facts before all counts: nodes above the ceiling in production, and requests far from use."""
    load = study.about["workload"]
    use = load.get("production")
    if use is None or study.about["scale"] != 1:
        return
    today = [Fullest(**one) for one in use["today"]]
    yield from broken_facts(use["broken"], today, use["ceiling"], load["nodes"])
    if case_of(study) != "recommended":
        yield from facts_of_use(use["use_over_requested"])


def case_of(study: Study) -> Case:
    """Return whether a study counts nodes with recorded or with recommended requests."""
    origins = study.about["workload"].get("quantities", {})
    return "recommended" if origins.get("requests") == "chosen" else "recorded"


def _verdict(study: Study, count: Count | None) -> Fact:
    production = bool(study.about.get("observed"))
    use = study.about["workload"].get("production")
    broken = len(use["broken"]) if use is not None and study.about["scale"] == 1 else 0
    if broken and (count is None or count.added):
        because, count = "above_ceiling", None
    elif count is None:
        because = "none_holds"
    elif count.added:
        because = "more_nodes"
    elif count.case == "no_more_often":
        because = "above_ceiling_fewer"
    elif can_go(count):
        after = count.case == "recommended"
        fewer = "fewer_nodes_after_requests" if after else "fewer_nodes"
        because = fewer if production else "needs_fewest"
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
            "broken": broken or None,
            **({"survives": study.about["survive"]} if study.about.get("survive") else {}),
        },
    )


def _of_counts(counts: Sequence[Count], acted: Count | None) -> Iterator[Fact]:
    """The nodes that each policy needs, and details of the count that is acted on."""
    for one in counts:
        yield needed_fact(one)
        if one is not acted:
            continue
        for full in one.fullest:
            yield fullest_fact(full, one.case, one.requests)
        yield from detail_facts(one)


def zone_facts(study: Study, count: Count | None) -> Iterator[Fact]:
    """Yield facts on the loss of each zone: today, and on the nodes that stay."""
    policy, case = ("", "") if count is None else (count.policy, count.case)
    today, on_staying = zones_on(study.frames, policy, as_production=case == "no_more_often")
    broken = today.drop_nulls("breaks_measure") if today.height else today
    if today.height and broken.is_empty():
        about: dict[str, Scalar] = {"of": today.height}
        yield Fact(kind="zone_loss", verdict="holds", because="survives", about=about)
    rows = sorted(
        broken.iter_rows(named=True),
        key=lambda row: (-row["waiting_containers"], -row["breaks_value"]),
    )
    for at, row in enumerate(rows):
        yield _not_survived(row, of=today.height, first=at == 0, fails=len(rows))
    zoneless = study.about["workload"].get("nodes_without_zone")
    if zoneless and (today.height or on_staying.height):
        yield Fact(kind="zone_loss", value=zoneless, unit="nodes", because="no_zone")
    for zone, bound in study.about["workload"].get("bound_to_zones", {}).items():
        yield Fact(
            kind="zone_loss",
            subject=zone,
            value=bound["containers"],
            unit="containers",
            verdict="does_not_hold",
            because="bound",
            about={"service": bound["service"]},
        )
    for measure in FULLEST.values() if on_staying.height else ():
        row = on_staying.sort(measure, descending=True, maintain_order=True).row(0, named=True)
        yield Fact(
            kind="zone_loss",
            subject=row["zone"],
            measure=measure,
            value=row[measure],
            unit="fraction",
            verdict="holds",
            because="kept",
            rank=2,
            about={"policy": policy, "of": on_staying.height},
        )


def _not_survived(row: Mapping[str, Any], *, of: int, first: bool, fails: int) -> Fact:
    """The fact of a zone without which a limit breaks; only the worst zone has rank 1."""
    waits = row["waiting_containers"] > 0
    measure = find_measure(row["breaks_measure"])
    unit = "fraction" if measure is not None and measure.share else ""
    return Fact(
        kind="zone_loss",
        subject=row["zone"],
        measure=row["breaks_measure"],
        value=row["waiting_containers"] if waits else row["breaks_value"],
        unit="containers" if waits else unit,
        against=None if waits else row["breaks_allowed"],
        verdict="does_not_hold",
        because="waits" if waits else "breaks",
        rank=1 if first else 3,
        about={"policy": row["policy"], "nodes": row["nodes"], "of": of, "fails": fails},
    )


def money_facts(study: Study, count: Count | None) -> Iterator[Fact]:
    """Yield the saved cost, or the fact that prices are unknown; nothing if all nodes must stay."""
    if count is not None and can_go(count):
        row = study.frames["policies"].filter(policy=count.policy).row(0, named=True)
        currency = study.about["workload"].get("currency")
        saving = saving_fact(count, row.get("cost_all_per_hour"), currency)
        yield saving or Fact(kind="price_unknown")


def special_facts(study: Study) -> Iterator[Fact]:
    """Yield how many special nodes stay, by reason."""
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


def sure_facts(count: Count | None, *, varying: bool, assumed: bool = False) -> Iterator[Fact]:
    """Yield how certain a count of nodes is.

    Parameters
    ----------
    varying : bool
        Whether orders of arrival differ. A record of all arrivals has one order.
    assumed : bool
        Whether sizes are assumed.
    """
    if count is None or count.nodes is None:
        return
    orders = len(count.by_order)
    enough = "" if orders >= FEWEST else "few_orders" if varying else "one_order"
    yield Fact(
        kind="confidence",
        subject=count.policy,
        value=count.nodes,
        unit="nodes",
        because="assumed" if assumed else enough,
        about={"held": orders, "orders": orders, "needed": FEWEST},
    )


def drain_facts(study: Study, count: Count | None) -> Iterator[Fact]:
    """Yield how many of the nodes that can go cannot be drained, because of disruption budgets."""
    nodes = study.frames["nodes"]
    if count is None or BARRED_BY not in nodes.columns:
        return
    barred = nodes.filter(pl.col("policy") == count.policy, ~pl.col("kept")).drop_nulls(BARRED_BY)
    if barred.height:
        budgets = barred[BARRED_BY].unique().sort().to_list()
        yield Fact(
            kind="drain_barred",
            subject=barred["node"][0],
            value=barred.height,
            unit="nodes",
            about={
                "of": count.of - (count.nodes or 0),
                "budgets": and_more(budgets[:3], len(budgets)),
            },
        )


def anew_facts(count: Count | None) -> Iterator[Fact]:
    """Yield the caveat that a count places all containers anew; nothing if all nodes must stay."""
    if can_go(count):
        yield Fact(kind="not_covered", subject="trace", because="placed_anew")


def _next(study: Study, count: Count | None, store: str, out: str) -> Iterator[Followup]:
    if out:
        page = {"SOURCE": out, "out": f"{out}.html"}
        yield Followup(question="report", command="report", arguments=page)
    load = study.about["workload"]
    if count is None or load.get("loader"):
        return
    given: dict[str, Scalar | list[str]] = {
        "STORE": store,
        "policy": count.policy,
        **({"limit": study.about["limits"]} if study.about["limits_given"] else {}),
        **({"assume": load["assume"]} if load["assume"] else {}),
        **({"survive": study.about["survive"]} if study.about.get("survive") else {}),
    }
    use = load.get("production")
    far = use is not None and requests_first(use["use_over_requested"]) is not None
    if count.case != "recommended" and far:
        sized = {"STORE": store, "out": "sized"}
        yield Followup(question="requests", command="requests", arguments=sized)
        assumed = [*load["assume"], "requests=sized:sized"]
        yield Followup(
            question="nodes_recommended", command="nodes", arguments={**given, "assume": assumed}
        )
    if load.get("zones", 0) > 1 and "survive" not in given:
        yield Followup(question="zone_loss", command="nodes", arguments={**given, "survive": ZONE})
    if study.about["scale"] == 1:
        yield Followup(question="nodes", command="nodes", arguments={**given, "scale": 1.2})
