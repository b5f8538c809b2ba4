"""What a run lets one decide: which policy, how sure, against what, and what it does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.replay.measures import Measure
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import OBSERVED, Run
from tracekit.replay.runs.standings import (
    Difference,
    Standing,
    Standings,
    difference,
    standings,
)
from tracekit.replay.runs.student import FEWEST

#: Rules that need no knowledge of use: what anything cleverer has to be better than.
SIMPLE = (
    "first_fit", "best_fit", "worst_fit", "random",
    "least_allocated", "most_allocated", "least_requested", "most_requested",
)  # fmt: skip

#: Less of a resource than this share is the containers' own: no policy can move more.
SMALL_SHARE = 0.2

_QUESTION = "Which policy should place these containers?"
_OVERLOAD = "overloaded_node_steps"
#: What a policy must not do is asked first; it does not rank those that do not.
_CONDITIONS = (_OVERLOAD, "pending")


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A policy that is not chosen whatever it is good at, and why, a clause."""

    names: tuple[str, ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Told:
    """A measure under the chosen policy, beside production and the best simple rule.

    Parameters
    ----------
    against_production, against_simple : Difference, optional
        Chosen less the other; None where there is no such run, or it is the chosen one itself.
    """

    measure: str
    standing: Standing
    against_production: Difference | None
    against_simple: Difference | None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What can be told.

    Parameters
    ----------
    question : str
        What was asked.
    answer : str
        The answer in one sentence; where nothing can be told it says so, and why.
    chosen : tuple of str
        Policies that may be chosen: the best by ``criterion`` and those within chance of it, none
        of which overloads a node. Empty where nothing can be told.
    criterion : str
        The measure that decided; empty where none did.
    measures : tuple of Told
        What the first of the chosen comes to.
    simple : str
        The best simple rule; empty where none was replayed.
    left_out : tuple of LeftOut
        Policies that overload nodes or leave containers waiting.
    not_told : tuple of str
        Sentences: what the run does not tell, and why.
    covers : tuple of str
        What differs between repeats, so that the intervals cover it.
    orders : int
        How many orders of arrival were met by the policies that met most.
    """

    question: str
    answer: str
    chosen: tuple[str, ...]
    criterion: str
    measures: tuple[Told, ...]
    simple: str
    left_out: tuple[LeftOut, ...]
    not_told: tuple[str, ...]
    covers: tuple[str, ...]
    orders: int


def decision(run: Results | Run | Path | str) -> Decision:
    """What a run lets one decide."""
    found = results(run)
    left_out = _left_out(found)
    out = {name for one in left_out for name in one.names}
    fit = [names for names in found.groups if names[0] not in out and names != (OBSERVED,)]
    measure, best = _best(found, fit)
    chosen = tuple(name for row in best for name in row.names if name != OBSERVED)
    simple = _simple(found, chosen, measure, out)
    return Decision(
        question=_QUESTION,
        answer=_answer(found, chosen, measure, left_out, fit),
        chosen=chosen,
        criterion=measure,
        measures=_measures(found, chosen[0], simple) if chosen else (),
        simple=simple,
        left_out=left_out,
        not_told=tuple(_not_told(found)),
        covers=tuple(found.manifest.get("repeats_cover", ())),
        orders=_orders(found),
    )


def _answers(found: Results) -> list[Measure]:
    """The measures that may answer, in the order of the registry."""
    return [one for one in found.measures.values() if one.group == "answer"]


def _orders(found: Results) -> int:
    return max((found.orders(name) for name in found.policies), default=0)


def _left_out(found: Results) -> tuple[LeftOut, ...]:
    reasons = ((names, _unfit(found, names[0])) for names in found.groups)
    return tuple(LeftOut(names=names, why=why) for names, why in reasons if why)


def _unfit(found: Results, policy: str) -> str:
    """Why a policy may not be chosen; empty if it may."""
    if found.waited(policy):
        return "left containers waiting"
    if found.known(policy, _OVERLOAD) and found.of(policy, _OVERLOAD).any():
        mean = float(found.of(policy, _OVERLOAD).mean())
        return f"needed more than a node has, {mean:,.4g} times on average (node-steps)"
    for name, one in found.measures.items():
        if "p99" in name and one.share and found.known(policy, name):
            most = float(found.of(policy, name).max())
            if most > 1:
                return f"{one.title} reached {most:.1%}"
    return ""


def _best(found: Results, fit: Sequence[tuple[str, ...]]) -> tuple[str, tuple[Standing, ...]]:
    """The first measure that tells the policies apart which may be chosen, and its best rows."""
    if len(fit) == 1 and _orders(found) >= FEWEST and len(found.groups) > 1:
        known = [name for name in _CONDITIONS if found.known(fit[0][0], name)]
        if known:
            row = standings(found, known[0]).row(fit[0][0])
            return known[0], (row,) if row else ()
    for one in _answers(found):
        if one.better is None or one.name in _CONDITIONS:
            continue
        stand = standings(found, one.name, among=fit)
        if stand.tells:
            return one.name, stand.best
    return "", ()


def _simple(found: Results, chosen: Sequence[str], measure: str, out: set[str]) -> str:
    """The best of the simple rules that may be chosen, else of all; empty if it is chosen."""
    there = [name for name in found.policies if name in SIMPLE]
    if not chosen or not there or set(there) & set(chosen):
        return ""
    fit = [name for name in there if name not in out] or there
    by = next((one.name for one in _answers(found) if one.better), "")
    name = measure if measure not in _CONDITIONS else by
    rows: Standings = standings(found, name)
    ranked = [one for row in rows.rows for one in row.names]
    return next((one for one in ranked if one in fit), "")


def _measures(found: Results, policy: str, simple: str) -> tuple[Told, ...]:
    told = []
    for one in _answers(found):
        row = standings(found, one.name).row(policy)
        if row is None:
            continue
        others = (
            difference(found, policy, other, one.name)
            if other in found.policies and other != policy
            else None
            for other in (OBSERVED, simple)
        )
        production, rule = others
        told.append(
            Told(
                measure=one.name,
                standing=row,
                against_production=production,
                against_simple=rule,
            )
        )
    return tuple(told)


def _answer(
    found: Results,
    chosen: Sequence[str],
    measure: str,
    left_out: Sequence[LeftOut],
    fit: Sequence[tuple[str, ...]],
) -> str:
    count = sum(1 for name in found.policies if name != OBSERVED)
    orders = _orders(found)
    if not chosen:
        return f"No policy can be recommended: {_why_none(found, fit, left_out)}."
    names = ", ".join(chosen)
    if measure in _CONDITIONS:
        do = "overloads no node and leaves" if len(chosen) == 1 else "overload no node and leave"
        return (
            f"Of {count} policies {names} alone {do} nothing waiting, in {orders} orders of"
            " arrival."
        )
    title = found.measures[measure].title
    end = "lowest" if found.measures[measure].first == "low" else "highest"
    return (
        f"{names}: {end} {title[:1].lower()}{title[1:]} of {count} policies in {orders} orders of"
        " arrival, beyond chance."
    )


def _why_none(found: Results, fit: Sequence[tuple[str, ...]], left_out: Sequence[LeftOut]) -> str:
    if not fit:
        ours = [one for one in left_out if one.names != (OBSERVED,)]
        return "every policy overloads nodes or leaves containers waiting" if ours else "none ran"
    if _orders(found) < FEWEST:
        met = "1 order" if _orders(found) == 1 else f"{_orders(found)} orders"
        return f"policies met {met} of arrival, an interval needs {FEWEST} (--repeat {FEWEST})"
    if len(fit) == 1:
        return "the policies that may be chosen place alike"
    return "the policies that overload no node do not differ beyond chance by 1 % or more"


def _not_told(found: Results) -> list[str]:
    """Per answering measure that tells nothing, why; and which resource cannot be moved."""
    said = []
    for one in _answers(found):
        stand = standings(found, one.name)
        if not stand.tells:
            said.append(f"{one.title}: {stand.why_not}.")
    movable = found.manifest.get("workload", {}).get("movable") or {}
    said += [
        f"Only {share:.1%} of the use of {resource} can be moved by any policy."
        for resource, share in movable.items()
        if share is not None and share < SMALL_SHARE
    ]
    return said
