"""Which policies of a run may be chosen at all: those that hold the load as production does."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.answer.left_waiting import OF_WHAT, left, may_wait, waits_too_much
from tracekit.answer.overload import (
    FULL,
    PEAK,
    limits_of,
    more_than_with_all,
    most_of,
    most_overload,
    node_steps,
    within,
)
from tracekit.replay.chance.student import apart, compare
from tracekit.replay.measures import OVERLOAD
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.units import percent

#: What sentences call a policy that only serves to compare others with.
STICK = "a yardstick, which no scheduler runs"
#: Why it is not chosen.
YARDSTICK = f"it is {STICK}"
#: What sentences call overload of which the mean is above the limit, though not beyond chance.
IN_DOUBT = "too much to be recommended, too little to be barred"
#: Chance does not explain more than so many times production's value.
_FAR = 2.0
#: In more than this share of the orders.
_MOSTLY = 0.5


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Policies that are not chosen whatever they are good at, and why, a clause."""

    names: tuple[str, ...]
    why: str


def rule(found: Results) -> str:
    """Which policies may be chosen, a sentence."""
    usual = _usual(found, OVERLOAD)
    full = (
        ", the 99th percentile of use stays within capacity, or below production's, and no node"
        " uses more than twice what it has, or more than production's fullest"
        if usual is not None
        else ""
    )
    most = may_wait(found)
    share = f"{OF_WHAT}, as production placed all"
    usual_left = left(found, OBSERVED) if OBSERVED in found.policies else 0
    waiting = f"at most {most:,} waiting ({share})" if most else "nothing waiting"
    waiting = f"no more waiting than production ({usual_left:,})" if usual_left else waiting
    return (
        f"A policy may be chosen that leaves {waiting} while"
        f" {within(usual, _node_steps(found))}{full}. One that overloads more only on average, so"
        f" that chance may explain it, is marked: that is {IN_DOUBT}."
    )


def allowed(found: Results) -> float | None:
    """The number of node-steps in which nodes may be overloaded on average; None if unknown."""
    return (
        most_overload(_usual(found, OVERLOAD), _node_steps(found))
        if OVERLOAD in found.measures
        else None
    )


def limits(found: Results) -> dict[str, float]:
    """The most that each measure of overload may be, of those that the run knows."""
    usual = {name: _usual(found, name) for name in (OVERLOAD, *FULL, *PEAK)}
    known = usual if usual[OVERLOAD] is not None else None
    most = limits_of(known, _node_steps(found))
    return {name: value for name, value in most.items() if name in found.measures}


def production_overloads(found: Results) -> bool:
    """Whether production overloads nodes more often than a policy may without it."""
    return more_than_with_all(_usual(found, OVERLOAD), _node_steps(found)) is not None


def above_on_average(found: Results, policy: str) -> bool:
    """Whether its mean is above a limit; it may still be chosen, as chance may explain that."""
    return policy != OBSERVED and any(
        found.known(policy, name) and _mean(found, policy, name) > most
        for name, most in limits(found).items()
    )


@functools.lru_cache(maxsize=4)
def left_out(found: Results) -> tuple[LeftOut, ...]:
    """The policies that break the rule, and those that are but yardsticks.

    Production is among them only where it left some out.
    """
    reasons = ((names, _why(found, names[0]) or _measuring(found, names)) for names in found.groups)
    return tuple(LeftOut(names=names, why=why) for names, why in reasons if why)


def breaking(barred: Sequence[LeftOut]) -> list[LeftOut]:
    """Those that break the rule."""
    return [one for one in barred if one.why != YARDSTICK]


def yardstick(found: Results, policy: str) -> bool:
    """Whether it is there to compare others with, and no scheduler runs it."""
    known = found.manifest.get("policies") or ()
    about: Mapping[str, Any] = next((one for one in known if one["policy"] == policy), {})
    return about.get("used_by") == "yardstick"


def _measuring(found: Results, names: Sequence[str]) -> str:
    return YARDSTICK if all(yardstick(found, name) for name in names) else ""


def judged(found: Results, policy: str) -> bool:
    """Whether it met as many orders as any policy, or is barred for good by those that it met.

    Where some policies met more orders, a single order does not judge the others.
    """
    return found.orders(policy) == found.most_orders or barred_for_good(found, policy)


def barred_for_good(found: Results, policy: str) -> bool:
    """Whether it may not be chosen, whatever it would come to in the orders that only others met.

    Containers that waited in one order bar it. Overload is never below 0, so the overload of the
    orders that it met, divided by the number of all orders, is the least that its mean can be.
    """
    most = max(found.most_orders, *found.manifest.get("repeats_looks") or (), 1)
    share = found.orders(policy) / most
    if policy == OBSERVED or share == 1.0:
        return False
    return waits_too_much(found, policy) or any(
        _far_beyond(found, policy, name, limit, share) for name, limit in limits(found).items()
    )


def _far_beyond(found: Results, policy: str, name: str, limit: float, share: float) -> bool:
    """Whether a measure is beyond its limit and far beyond production's even with nothing added."""
    if not found.known(policy, name):
        return False
    least = _mean(found, policy, name) * share
    return least > limit and least > _FAR * (_usual(found, name) or 0.0)


def _why(found: Results, policy: str) -> str:
    """Why a policy may not be chosen; empty if it may."""
    why = _breach(found, policy)
    met, most = found.orders(policy), found.most_orders
    if not why or met == most or not barred_for_good(found, policy):
        return why
    orders = "one order" if met == 1 else f"{met} orders"
    return (
        f"{why}, in {orders} of arrival; even without any in {most - met} more it would be too much"
    )


def _breach(found: Results, policy: str) -> str:
    """The limit that a policy breaks, by the mean of the orders that it met; else empty."""
    if waits_too_much(found, policy):
        return "left containers waiting"
    for name, one in found.measures.items():
        limit = most_of(name, _usual(found, name))
        if limit is not None and _worse(found, policy, name, limit):
            return f"{one.title} is {percent(_mean(found, policy, name))}, above {percent(limit)}"
    most = most_overload(_usual(found, OVERLOAD), _node_steps(found))
    if _worse(found, policy, OVERLOAD, most):
        beside = f", production {_times(found, OBSERVED)}" if OBSERVED in found.policies else ""
        return f"nodes needed more than they have in {_times(found, policy)} node-steps{beside}"
    return ""


def _worse(found: Results, policy: str, name: str, most: float) -> bool:
    """Whether a measure is above a limit, and above production's beyond chance or by far.

    It is above by far where most orders of arrival are above the limit. With a single order in its
    place, one of two equal policies would be struck out.
    """
    if policy == OBSERVED or not found.known(policy, name):
        return False
    if not _mean(found, policy, name) > most:
        return False
    usual = _usual(found, name)
    far = usual is None or _mean(found, policy, name) > _FAR * usual
    mostly = float((found.of(policy, name) > most).mean()) > _MOSTLY
    return (far and mostly) or (policy, name) in _beyond_chance(found)


@functools.lru_cache(maxsize=4)
def _beyond_chance(found: Results) -> frozenset[tuple[str, str]]:
    """The measures of overload by which a policy differs from production; they are one family."""
    if OBSERVED not in found.policies:
        return frozenset()
    names = [one for one in (OVERLOAD, *FULL) if found.known(OBSERVED, one)]
    usual = found.orders(OBSERVED)
    rivals = [group[0] for group in found.groups if OBSERVED not in group]
    pairs = [
        (policy, name)
        for policy in rivals
        for name in names
        if found.orders(policy) == usual and found.known(policy, name)
    ]
    if not pairs:
        return frozenset()
    values = [apart(found.of(policy, name), found.of(OBSERVED, name)) for policy, name in pairs]
    once = np.ones(len(pairs), dtype=np.bool_)
    told = compare(np.stack(values, axis=1), once=once, looks=found.looks).separated
    return frozenset(pair for pair, one in zip(pairs, told, strict=True) if one)


def _usual(found: Results, name: str) -> float | None:
    """Production's value; None where it is not known."""
    return _mean(found, OBSERVED, name) if found.known(OBSERVED, name) else None


def _node_steps(found: Results) -> float:
    return node_steps(found.manifest.get("workload", {}))


def _mean(found: Results, policy: str, name: str) -> float:
    return float(found.of(policy, name).mean())


def _times(found: Results, policy: str) -> str:
    mean = _mean(found, policy, OVERLOAD)
    return f"{mean:,.0f}" if mean >= 10 or mean == round(mean) else f"{mean:.1f}"
