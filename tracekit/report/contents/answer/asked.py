"""What was asked of a run, and how much of the load any policy could move."""

from collections.abc import Mapping
from typing import Any

from tracekit.answer.decision import Decision
from tracekit.replay.measures import RESOURCES, words_of
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.policies import replayed
from tracekit.words import agreeing, count, listed, percent, spaced


def asked(data: Data, told: Decision) -> str:
    """The question, how many policies placed whom, and who stayed where it ran."""
    load = (data.run or {})["workload"]
    policies = len((data.run or {})["policies"]) - (OBSERVED in replayed(data))
    stay = load.get("facts", {}).get("containers_pinned", 0)
    whom, then = count(load["containers"], "container"), ""
    if stay:
        whom = f"{load['containers'] - stay:,} of {whom}"
        then = f"; {agreeing(stay, _begins(data, load))}"
    beside_ = ", beside where production ran them" if OBSERVED in replayed(data) else ""
    return (
        f"{told.question} {_policies(policies)} placed {whom} anew on"
        f" {count(load['nodes'], 'node')}{beside_}{then}."
    )


def _begins(data: Data, load: Mapping[str, Any]) -> str:
    """What is said of those that no policy placed at first."""
    if not _taken_off(data, load):
        return "[stays where it|stay where they] ran"
    again = "until [it is|they are] taken off [its node|their nodes] and placed anew"
    return f"[begins where it|begin where they] ran, {again}"


def _taken_off(data: Data, load: Mapping[str, Any]) -> bool:
    """Whether a loss, one of higher priority or a rebalancer takes containers off their nodes."""
    given = load.get("assumptions", {})
    moved = any("+" in one["policy"] for one in (data.run or {})["policies"])
    return moved or bool(load.get("lost")) or given.get("preemption", "none") != "none"


def _policies(number: int) -> str:
    return "1 policy" if number == 1 else f"{number:,}\u00a0policies"


def movable(load: Mapping[str, Any]) -> str:
    """How much of the load a policy can move."""
    known = load.get("movable") or {}
    shares = {name: known[name] for name in RESOURCES if known.get(name) is not None}
    if not shares:
        return ""
    told = listed([f"{percent(share)} of the {words_of(name)}" for name, share in shares.items()])
    return spaced(f"A policy can move at most {told} in use.")
