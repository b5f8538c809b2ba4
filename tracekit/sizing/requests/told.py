"""A study of requests in sentences: what to change, what it frees, what it risks, how sure."""

from collections.abc import Mapping
from shlex import quote
from typing import Any

from tracekit.replay.policy.entrant import USUAL
from tracekit.replay.workload.requests.given import NOW, SUBJECT
from tracekit.sizing.requests.at_risk import spared_told
from tracekit.sizing.requests.chosen import margin_of
from tracekit.sizing.requests.declared import REPLAYED, SHRUNK
from tracekit.sizing.requests.freed_told import both_ways, stays
from tracekit.sizing.requests.growing import grown
from tracekit.sizing.requests.rows import (
    UNITS,
    amount,
    at_risk,
    freeing_most,
    freeing_told,
    measured,
    needing_more,
    needing_told,
    row,
    services,
    then,
    unchanged_told,
)
from tracekit.store.manifest import MADE_UP
from tracekit.study import Study, Where, beside
from tracekit.units import MS_PER_DAY, duration, percent
from tracekit.words import listed

__all__ = [
    "ALIKE",
    "QUESTION",
    "TOLD",
    "UNITS",
    "amount",
    "answer",
    "at_risk",
    "between",
    "beyond_limit",
    "both_ways",
    "following",
    "freeing_most",
    "freeing_told",
    "grown",
    "lines",
    "measured",
    "needing_more",
    "needing_told",
    "notes",
    "risk",
    "row",
    "services",
    "spared_told",
    "stays",
    "sure",
    "then",
    "unchanged_told",
    "warnings",
    "within",
]

QUESTION = "Which requests should I change, and what does that free?"
#: So many services are told of each kind.
TOLD = 10


def answer(study: Study) -> str:
    """What the policy to follow would change, a sentence; before it, where it is too risky, that.

    A headline that recommends what the study's own rule rejects would be followed.
    """
    subject = str(study.about[SUBJECT])
    told = " and ".join(_change(study, subject, resource) for resource in measured(study))
    if keeps_within(study):
        return f"Set to what {subject} recommends, requests change {told}."
    accepted = percent(study.about["risk_share"], 0)
    return (
        f"Every policy{_WITH_MARGIN if margin_of(subject) else ''} leaves more in use than"
        f" requested in over {accepted} of container-steps; look at the services at risk before you"
        f" change any request. {subject} comes nearest: with it requests change {told}."
    )


_WITH_MARGIN = " with a safety margin"


def keeps_within(study: Study) -> bool:
    """Whether the policy to follow keeps within the accepted risk by every resource."""
    found = row(study, str(study.about[SUBJECT])).of.values()
    return max(one["above_share"] or 0.0 for one in found) <= float(study.about["risk_share"])


def _change(study: Study, policy: str, resource: str) -> str:
    found = row(study, policy).of[resource]
    name, unit, _ = UNITS[resource]
    before, after = (amount(found[one], resource) for one in ("requested_now", "requested"))
    freed = found["freed"]
    share = f", {percent(abs(freed) / found['requested_now'], 0)}" if found["requested_now"] else ""
    what = f"{amount(abs(freed), resource)} {'freed' if freed >= 0 else 'added'}{share}"
    return f"from {before} to {after} {unit} of {name} ({what})"


def risk(study: Study) -> str:
    """How often use was above it, and above what is requested now."""
    found, now = row(study, str(study.about[SUBJECT])), row(study, NOW)
    parts = [
        f"{UNITS[resource][0]} in {_share(found.of[resource]['above_share'])} of container-steps"
        f"{_short(found.of[resource]['excess_mean'], resource)}"
        f" (with the requests of now {_share(now.of[resource]['above_share'])})"
        for resource in measured(study)
    ]
    return (
        f"In the time held back to judge by, more was in use than requested: {' and '.join(parts)}."
    )


def _short(excess: float | None, resource: str) -> str:
    """How much was short where something was."""
    if not excess:
        return ""
    return f", by {amount(excess, resource)} {UNITS[resource][1]} of a container on average"


def _share(value: float | None) -> str:
    if value is None:
        return "none"
    return "under 0.1 %" if 0 < value < 0.0005 else percent(value)


def within(study: Study) -> str:
    """Why this policy is the one to follow."""
    subject, accepted = str(study.about[SUBJECT]), percent(study.about["risk_share"], 0)
    margin = margin_of(subject)
    if not margin:
        why = "It has no safety margin, as no policy given has one: --policy all adds some that do."
    elif keeps_within(study):
        risky = at_risk(study)["service"].n_unique()
        kinds = [UNITS[name][0] for name in measured(study)]
        lesser = ", by the resource of which it frees the smaller share" if len(kinds) > 1 else ""
        why = (
            f"It adds a safety margin of {percent(margin, 0)}. Several policies have a margin and"
            f" are exceeded in at most {accepted} of container-steps, by {' and by '.join(kinds)}:"
            f" of them it puts the fewest services at risk ({risky:,}). Where two put as few at"
            f" risk, the one that frees more is taken{lesser}."
        )
    else:
        why = (
            f"Give the services at risk under {subject} more by hand, or accept more than"
            f" {accepted} of container-steps (--risk)."
        )
    bare = [name for name in study.about["asked"] if name != subject and not margin_of(name)]
    shown = [name for name in bare if name != _ORACLE]
    return f"{why} To compare only, without a margin: {listed(shown)}." if shown else why


#: It knows the time that judges, so that nobody takes it for a rule.
_ORACLE = "oracle"


def beyond_limit(study: Study) -> str:
    """What moving limits with requests, as the autoscaler does, would cut off."""
    rows, now = row(study, str(study.about[SUBJECT])).of, row(study, NOW).of
    found = [
        f"{UNITS[name][0]} {_share(one['beyond_limit_share'])} (with the limits of now"
        f" {_share(now[name]['beyond_limit_share'])})"
        for name, one in rows.items()
        if one["beyond_limit_share"]
    ]
    if not found:
        return ""
    return (
        "If limits move in proportion to requests, as the Vertical Pod Autoscaler moves them, use"
        " would have been above the limit in so many container-steps with a limit:"
        f" {' and '.join(found)}. There CPU is throttled and memory is killed."
    )


def sure(study: Study) -> str:
    """How long was judged, and over what the intervals are."""
    facts = study.about["facts"]
    found = row(study, str(study.about[SUBJECT])).of
    ranges = [
        between(one, name)
        for name, one in found.items()
        if one["freed_low"] is not None and name in measured(study)
    ]
    judged = (
        f"Recommended from the first {duration(facts['learned_ms'])} of recorded use, judged on the"
        f" {duration(facts['judged_ms'])} after it."
    )
    if not ranges:
        return f"{judged} That is too short for an interval."
    window = duration(facts["judged_ms"] / facts["windows"])
    if set(ranges) == {ALIKE}:
        return (
            f"{judged} The {facts['windows']} windows of {window} are too alike to tell how sure"
            " this is."
        )
    return (
        f"{judged} 95 % interval of what is freed, over {facts['windows']} windows of {window}:"
        f" {' and '.join(ranges)}."
    )


#: What is said where the windows differ by less than the digits that are shown.
ALIKE = "windows too alike to tell"


def between(one: Mapping[str, Any], resource: str) -> str:
    """The interval of the freed amount; none where pods stand still, which is no certainty."""
    low, high = (amount(one[end], resource) for end in ("freed_low", "freed_high"))
    return ALIKE if low == high else f"{low} to {high} {UNITS[resource][1]}"


#: Peaks that come once in so many days.
_CYCLES = {"weekly": 7, "monthly": 31}


def warnings(study: Study) -> list[str]:
    """What the recorded time cannot tell."""
    about, facts = study.about, study.about["facts"]
    said, shorter = [], min(facts["learned_ms"], facts["judged_ms"])
    if about["workload"]["made_up"]:
        said.append(MADE_UP)
    if shorter < MS_PER_DAY:
        said.append(
            "Less than a day was learned from or judged: what happens at other times of the day is"
            " not in it. Record two days or more before you act."
        )
    if unseen := [what for what, days in _CYCLES.items() if shorter < days * MS_PER_DAY]:
        said.append(
            f"{duration(shorter)} of use to judge by say nothing of {listed(unseen)} peaks: leave"
            " more room where you expect them."
        )
    return said


def notes(study: Study) -> list[str]:
    """What else has to be known."""
    about, facts = study.about, study.about["facts"]
    waited = about["workload"].get("never_ran")
    said = [f"{waited}. No sum here has them."] if waited else []
    if without := facts["services_without_request"]:
        what = "service has" if without == 1 else "services have"
        said.append(
            f"{without:,} {what} no request now for CPU or memory: all of that use counts as above"
            " the request, and what is recommended counts as added."
        )
    if unknown := facts["services_without_past"]:
        what = "service has" if unknown == 1 else "services have"
        said.append(f"{unknown:,} {what} no use to learn from: the requests of now stay.")
    why: dict[str, list[str]] = {}
    for one in about["left_out"]:
        why.setdefault(one["why"], []).append(one["policy"])
    said += [f"Left out, since {reason}: {', '.join(names)}." for reason, names in why.items()]
    return said


def lines(study: Study) -> list[str]:
    """All of it, the answer first."""
    said = [
        answer(study),
        both_ways(study),
        stays(study),
        grown(study),
        spared_told(study),
        risk(study),
        within(study),
        sure(study),
        *warnings(study),
        beyond_limit(study),
    ]
    return [one for one in [*said, *notes(study)] if one]


def following(
    study: Study, out: str, store: str = "", to: Where | None = None
) -> list[tuple[str, str]]:
    """What to do next: what for, and the command.

    ``out``, where the study lies, and ``store`` are quoted for a shell; ``to`` says where a study
    goes.
    """
    lies = study.about["workload"]["store"]
    named, to = store or quote(lies), to or beside(lies)
    again = f"--policy {USUAL} --assume requests=sized:{out}"
    return [
        ("What it does to the nodes:", f"tracekit replay {named} {again} --out {out}{REPLAYED}"),
        (
            "How many nodes are enough then:",
            f"tracekit nodes {named} {again} --out {to(SHRUNK)}",
        ),
    ]
