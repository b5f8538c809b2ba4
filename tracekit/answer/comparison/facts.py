"""The facts of a comparison: on changes, on settings that differ, and on thresholds."""

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.answer.comparison.compared_run import (
    ALIKE,
    BY_CHANCE,
    CHANCE,
    HELD,
    NO_BASE,
    NOT_COMPARABLE,
    SAME,
    TOO_FEW,
    UNCHANGED,
    compares_policies,
    speaks_of_load,
)
from tracekit.answer.comparison.shadow import PRODUCTION, shadow_verdict
from tracekit.base.facts import Answer, Fact, Scalar, Verdict, answer_of
from tracekit.base.study import Study
from tracekit.replay.chance import FEWEST
from tracekit.replay.runs.thresholds import WORST

#: By verdict on a change: the fact's verdict, and the key of its template.
_SAID: Mapping[str, tuple[Verdict, str]] = {
    "better": ("better", ""),
    "worse": ("worse", ""),
    SAME: ("same", ""),
    ALIKE: ("same", "alike"),
    CHANCE: ("cannot_tell", ""),
    TOO_FEW: ("cannot_tell", "few_orders"),
    NOT_COMPARABLE: ("cannot_tell", "not_comparable"),
    "changed": ("cannot_tell", "changed"),
}
#: By outcome of a threshold: the fact's verdict, and the key of its template.
_OUTCOMES: Mapping[str, tuple[Verdict, str]] = {
    HELD: ("holds", ""),
    NOT_COMPARABLE: ("does_not_hold", "not_comparable"),
    NO_BASE: ("cannot_tell", "not_in_base"),
    BY_CHANCE: ("cannot_tell", "maybe_chance"),
}


def answer_of_comparison(study: Study) -> Answer:
    """Return the facts of a comparison as an answer."""
    return answer_of(facts_of_comparison(study))


def facts_of_comparison(study: Study) -> list[Fact]:
    """Return the facts of a comparison: one for each change, setting and threshold."""
    changes = study.frames["changes"].to_dicts()
    if study.about["base"] == PRODUCTION:
        return [shadow_verdict(study), *(_change(row) for row in changes)]
    return [
        _headline(study, changes),
        *_settings(study.about),
        *_missing(study.about, changes),
        *(_threshold(row) for row in study.frames["thresholds"].to_dicts()),
        *_orders(changes),
        *_alone(study.about),
        *(_change(row) for row in changes),
    ]


def _headline(study: Study, changes: list[dict[str, Any]]) -> Fact:
    """How many values changed for the better and for the worse."""
    verdicts = [row["verdict"] for row in changes]
    changed = sum(one not in UNCHANGED for one in verdicts)
    cause = "runs_changed" if changed else "runs_alike"
    return Fact(
        kind="verdict",
        subject=study.about["new"],
        value=changed,
        against=study.about["base"],
        because=cause if compares_policies(study.about) else "runs_alone",
        about={
            "of": len(changes),
            "better": verdicts.count("better"),
            "worse": verdicts.count("worse"),
            "not_comparable": verdicts.count(NOT_COMPARABLE),
            "within_chance": verdicts.count(CHANCE),
        },
    )


def _settings(about: Mapping[str, Any]) -> Iterator[Fact]:
    for one in about.get("settings", ()):
        load = speaks_of_load(one["setting"])
        yield Fact(
            kind="runs_differ",
            subject=one["setting"],
            value=one["new"],
            against=one["base"],
            unit=next((u for u in ("ms", "bytes") if one["setting"].endswith(f"_{u}")), ""),
            because="load" if load else "",
            rank=1 if load else None,
        )


def _alone(about: Mapping[str, Any]) -> Iterator[Fact]:
    """Policies that are in one run only."""
    for run, cause in (("base", "only_base"), ("new", "only_new")):
        for policy in about[cause]:
            yield Fact(
                kind="runs_differ", subject=policy, value=about[run], because="only_in", rank=2
            )


def _missing(about: Mapping[str, Any], changes: list[dict[str, Any]]) -> Iterator[Fact]:
    """Policies under which more containers wait than in the base."""
    placed = {row["policy"]: row["placed_change"] for row in changes}
    for policy, change in placed.items():
        if change < 0:
            yield Fact(
                kind="waiting",
                subject=policy,
                value=-change,
                unit="containers",
                because="not_as_base",
                about={"base": about["base"]},
            )


def _threshold(row: Mapping[str, Any]) -> Fact:
    """The outcome of a threshold under a policy, with the judged value."""
    verdict, cause = _OUTCOMES.get(row["outcome"], ("does_not_hold", ""))
    of_worst = row["judged"] == WORST and row["new_worst"] is not None
    about: dict[str, Scalar] = {"policy": row["policy"], "outcome": row["outcome"]}
    if (row["orders"] or 1) > 1:
        about |= {"worst_of": row["orders"]} if of_worst else {"mean_of": row["orders"]}
        about |= {"mean": row["new"], "worst": row["new_worst"]}
    base = row["base"]
    if row["base_judged"] == WORST and row["base_worst"] is not None:
        base = row["base_worst"]
    other = row["base_measure"] not in (None, row["measure"])
    if other:
        about |= {"base_measure": row["base_measure"], "base_value": base}
    return Fact(
        kind="check",
        subject=row["threshold"],
        measure=row["measure"],
        value=row["new_worst"] if of_worst else row["new"],
        against=None if other else base,
        verdict=verdict,
        because=cause,
        about=about,
    )


def _orders(changes: list[dict[str, Any]]) -> Iterator[Fact]:
    """The caveat that a change has no interval, because there are too few orders."""
    unknown = [
        row for row in changes if row["verdict"] not in UNCHANGED and row["change_low"] is None
    ]
    if unknown:
        orders = min(row["orders"] for row in unknown)
        yield Fact(
            kind="confidence",
            value=orders,
            unit="orders",
            because="few_orders",
            about={"orders": orders, "needed": FEWEST},
        )


def _change(row: Mapping[str, Any]) -> Fact:
    verdict, cause = _SAID[row["verdict"]]
    return Fact(
        kind="run_changed",
        subject=row["policy"],
        measure=row["measure"],
        value=row["new"],
        against=row["base"],
        verdict=verdict,
        because=cause,
        rank=None if row["verdict"] in ("better", "worse") else 3,
        about={
            name: row[name]
            for name in ("change", "change_low", "change_high", "orders", "placed_change")
        },
    )
