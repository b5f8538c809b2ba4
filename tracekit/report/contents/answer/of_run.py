"""What the first screen of a run says: its question, its answer, how sure, and what is next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.replay.measures import RESOURCES, words_of
from tracekit.replay.runs.advice import alike, meaning, runner_up, sentence
from tracekit.replay.runs.decision import Decision
from tracekit.replay.runs.filled import filled
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.contents import nodes_needed, quantities, vary
from tracekit.report.contents.answer.changes import beyond, changes
from tracekit.report.contents.answer.following import following
from tracekit.report.contents.answer.sure import sure
from tracekit.report.contents.first_screen import Answer
from tracekit.report.data import Data
from tracekit.report.headline import named
from tracekit.report.policies import replayed
from tracekit.report.words import count, few, listed, percent, spaced

#: From this share of containers without recorded use on it is said before the table.
_FEW = 0.1


def of_run(data: Data, told: Decision) -> Answer:
    """The answer of a run that lets one decide something, or says why it does not."""
    found = data.results
    if found is None:
        raise LookupError(told.answer)
    shown = next(iter(named(data)), "")
    before = OBSERVED if OBSERVED in replayed(data) else runner_up(found, told)
    load = (data.run or {})["workload"]
    return Answer(
        asked=_asked(data, told),
        movable=_movable((data.run or {})["workload"]),
        sentence=sentence(found, told),
        meaning=meaning(told),
        also=" ".join(filter(None, [spaced(filled(found)), nodes_needed.said(data, told)])),
        warnings=_warnings(data),
        barred=_barred(told),
        told=nodes_needed.held(data),
        changes=changes(data, told, shown, before),
        beyond=beyond(data, told, shown, before),
        before="production" if before == OBSERVED else before,
        after=shown,
        change=f"{_what(told, shown)}, on all {count(load['nodes'], 'node')}",
        sure=" ".join(filter(None, [alike(found, told), sure(data, told)])),
        hangs=vary.hangs(data, told),
        rests=_rests(data),
        next=following(data, told),
    )


def _what(told: Decision, shown: str) -> str:
    return "What it would change" if told.chosen else f"What {shown} would change"


def _asked(data: Data, told: Decision) -> str:
    load = (data.run or {})["workload"]
    policies = len((data.run or {})["policies"]) - (OBSERVED in replayed(data))
    return (
        f"{told.question} {count(load['containers'], 'container')} on"
        f" {count(load['nodes'], 'node')} were placed anew by {_policies(policies)}"
        f"{', beside where production ran them' if OBSERVED in replayed(data) else ''}."
    )


def _movable(load: Mapping[str, Any]) -> str:
    """How much of the load a policy can move."""
    known = load.get("movable") or {}
    shares = {name: known[name] for name in RESOURCES if known.get(name) is not None}
    if not shares:
        return ""
    told = listed([f"{percent(share)} of the {words_of(name)}" for name, share in shares.items()])
    return spaced(f"A policy can move {told} in use.")


def _policies(number: int) -> str:
    return "1 policy" if number == 1 else f"{number:,}\u00a0policies"


def _warnings(data: Data) -> list[str]:
    said = []
    if data.made_up:
        said.append(
            "This trace is made up (tracekit synth). What it shows was put into it: it says"
            " nothing about any real cluster."
        )
    if unjudged := (data.run or {})["workload"].get("unjudged"):
        said.append(spaced(unjudged))
    silent = _without_use((data.run or {})["workload"])
    if silent:
        said.append(silent)
    return said


def _barred(told: Decision) -> str:
    """Who may not be chosen, and by which rule; empty where all may."""
    names = [name for one in told.left_out for name in one.names if name != OBSERVED]
    if not names:
        return ""
    ways = sum(one.names != (OBSERVED,) for one in told.left_out)
    places = f", which place in {ways} ways" if ways != len(names) else ""
    return (
        f"Not to be chosen: {few(names)}{places}. {spaced(told.rule)} The policies page has the"
        " reason for each."
    )


def _without_use(load: Mapping[str, Any]) -> str:
    """What "use" means where it is not recorded, a sentence or two; empty where it mostly is."""
    silent, of = load.get("facts", {}).get("containers_with_request_as_use", 0), load["containers"]
    if silent < _FEW * of or not silent:
        return ""
    who = "No container has" if silent == of else f"{silent:,} of {of:,} containers have no"
    return spaced(
        f"{who} recorded use: what they request stands in for it. Where these pages say use,"
        f" {'read requests' if silent == of else 'those requests are part of it'}."
    )


def _rests(data: Data) -> list[tuple[str, str]]:
    load = (data.run or {}).get("workload", {})
    known = quantities.rests(load.get("quantities", {}), made_up=data.made_up)
    rest = background(load)
    return [*known, ("Use that no container explains", spaced(rest))] if rest else list(known)
