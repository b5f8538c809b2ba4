"""The answer of a run in one sentence, and what its measure means.

Terminal, display and report say the same sentence: what to use or to keep, and what it costs.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tracekit.answer.amounts import difference_text, standing_text
from tracekit.answer.decision import Decision, runner_up
from tracekit.answer.left_waiting import leaves, left
from tracekit.answer.may_answer import CONDITIONS
from tracekit.answer.overload import SLIGHT, node_steps
from tracekit.answer.preferred import USUAL
from tracekit.answer.prices import cost, gains, price, verb
from tracekit.answer.standings import Standing, difference, standings
from tracekit.replay.measures import OVERLOAD, RESOURCES, Measure, find_measure, small
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.units import percent
from tracekit.words import counted, few, listed, plural, spaced

#: What a policy is called where production is kept: it is no choice.
NEAREST = "comes nearest"
#: So many names are told.
_NAMED = 3
#: Where something gets better and something else worse; the reader alone knows what counts.
_WEIGH = "Keep the placement of production, unless this trade is worth it"
#: Above this a share is told in whole percent.
_PLAIN = 0.1
#: Measures whose titles alone say little: their names end so.
_UNTOLD = ("_stranded_share", "_debris_full_fraction")


def meaning(told: Decision) -> str:
    """The meaning of the answer's measure, where its title does not say it."""
    measure = find_measure(told.criterion)
    if measure is None or not told.chosen or not measure.name.endswith(_UNTOLD):
        return ""
    return f"{measure.title} is {measure.meaning.partition(';')[0]}."


def sentence(found: Results, told: Decision) -> str:
    """The answer; if nothing can be concluded, it says so, and why."""
    first, measure = next(iter(told.chosen), ""), find_measure(told.criterion)
    row = standings(found, told.criterion).row(first) if first and measure else None
    if row is None or measure is None:
        return spaced(f"{told.answer}{_waits(found, told.nearest)}")
    return (
        f"{_use(found, told, measure, row)}{_waits(found, first)}{_overloaded(found, first)}"
        f"{_blind(found, told)}"
    )


def without_advice(said: str) -> str:
    """What the answer's policy comes to, without the advice to use it."""
    use = re.match(r"Use ([^:,]+): ", said)
    return f"Under {use[1]} {said[use.end() :]}" if use else said.removeprefix(f"{_WEIGH}. ")


def overloads(found: Results, policy: str) -> float:
    """The share of node-steps that are overloaded; 0 where it is ``SLIGHT`` or unknown.

    A policy that overloads less than production may be the answer, and yet no cure.
    """
    steps = node_steps(found.manifest.get("workload", {}))
    if not policy or not steps or not found.known(policy, OVERLOAD):
        return 0.0
    share = float(found.of(policy, OVERLOAD).mean()) / steps
    return share if share > SLIGHT else 0.0


def _overloaded(found: Results, policy: str) -> str:
    """That nodes are overloaded under the policy, too, a sentence; or nothing."""
    share = overloads(found, policy)
    if not share:
        return ""
    peaks = [
        (float(found.of(policy, f"{name}_max_fraction").max()), words)
        for name, words in RESOURCES.items()
        if found.known(policy, f"{name}_max_fraction")
        and found.of(policy, f"{name}_max_fraction").max() > 1
    ]
    up_to = "".join(f", up to {percent(peak)} {words}" for peak, words in sorted(peaks)[-1:])
    much = percent(share, 0 if share > _PLAIN else 2)
    return f" Nodes are overloaded under it, too: in {much} of their steps{up_to}."


def keeps_production(found: Results, told: Decision) -> bool:
    """Whether the answer is to keep production: nothing is better, or has a price to be weighed."""
    if OBSERVED not in found.policies:
        return False
    return bool(told.nearest) if not told.chosen else price(found, told)[1]


def _waits(found: Results, policy: str) -> str:
    """That the policy leaves containers waiting, beside production, a sentence; or nothing."""
    clause = leaves(found, policy) if policy else ""
    if not clause:
        return ""
    usual = left(found, OBSERVED) if OBSERVED in found.policies else None
    beside = "" if usual is None else "; production placed all"
    if usual:
        beside = f"; production left {usual:,}"
    return f" {policy} {clause}{beside}."


def _use(found: Results, told: Decision, measure: Measure, row: Standing) -> str:
    """The policy to use, or to keep, beside production where it is known."""
    first = told.chosen[0]
    always = f" in each of {counted(row.orders, 'order')} of arrival" if row.reach == 0 else ""
    value = f"{standing_text(measure, row)}{always}"
    production = standings(found, told.criterion).row(OBSERVED)
    against = next(
        (one.against_production for one in told.measures if one.measure == told.criterion), None
    )
    title = small(measure.title)
    if production is None or against is None:
        if told.criterion in CONDITIONS and len(told.chosen) > 1:
            return _any_of(told)
        against_others = f"{_beside(found, told)}{cost(found, told)}"
        return f"Use {first}: {title} {verb(title)} {value}{against_others}."
    priced, costs = price(found, told)
    advice = f"{_WEIGH}. Under {first}" if costs else f"Use {first}:"
    if against.apart:
        gained = f"{difference_text(measure, against)} against production{priced}"
        return f"{advice} {title} {verb(title)} {value}, {gained}."
    usual = standing_text(measure, production)
    better = gains(found, told)
    if better:
        return (
            f"{advice} {listed(better[:_NAMED])}, while {title} {verb(title)} no different from"
            f" production's beyond chance ({value}; {usual} in production){priced}."
        )
    do = "does" if len(told.chosen) == 1 else "do"
    return (
        f"Nothing better than production was found, beyond chance. {measure.title}: {usual} in"
        f" production, {standing_text(measure, row)}{always} under {first}."
        f" {few(told.chosen)} {do} as well as production."
    )


def _any_of(told: Decision) -> str:
    """A sentence if policies that hold the load tie, and others do not hold it."""
    first = told.chosen[0]
    why = "which clusters run already" if first == USUAL else "one of them"
    others = sum(len(one.names) for one in told.left_out)
    do = "does" if others == 1 else "do"
    return (
        f"No policy is better than another: {len(told.chosen)} of {len(told.chosen) + others} place"
        " every container without overloading nodes, and nothing that may decide tells these apart"
        f" beyond chance. Keep {first}, {why}."
        f" The {plural(others, 'other')} {do} not hold the load."
    )


def _beside(found: Results, told: Decision) -> str:
    """How far the choice is from the runner-up, a clause; empty where there is none."""
    rival, measure = runner_up(found, told), find_measure(told.criterion)
    if not rival or measure is None:
        return ""
    by = difference(found, told.chosen[0], rival, measure.name)
    if by is None or not by.apart:
        return f", within chance of {rival}"
    return f", {difference_text(measure, by)} against {rival}"


def alike(found: Results, told: Decision) -> str:
    """The policies that the orders do not separate from the first, with numbers; or nothing."""
    measure = find_measure(told.criterion)
    if measure is None or not told.chosen:
        return ""
    rows, first = standings(found, told.criterion), told.chosen[0]
    others = [(name, rows.row(name)) for name in told.chosen[1:]]
    ours = found.of(first, told.criterion)
    same = [name for name, _ in others if np.array_equal(found.of(name, told.criterion), ours)]
    named = [
        f"{name} ({standing_text(measure, row)})"
        for name, row in others
        if row and name not in same
    ]
    why = f"; it goes first, as {told.why_first}" if told.why_first else ""
    said = [f"Too few orders tell {first} from {few(named)}{why}."] if named else []
    if told.why_first and not named:
        said.append(f"{told.why_first}.")
    if same:
        come = "comes" if len(same) == 1 else "come"
        said.append(f"{few(same)} {come} to the same by {small(measure.title)} in every order.")
    return " ".join(said)


def _blind(found: Results, told: Decision) -> str:
    """A sentence if the first policy reads use and never saw any; or nothing."""
    first = told.chosen[0]
    known: Mapping[str, Any] = next(
        (one for one in found.manifest.get("policies", []) if one["policy"] == first), {}
    )
    blind, containers = known.get("decisions_without_use"), _containers(found)
    if not blind or not containers or blind < containers:
        return ""
    return (
        f" All decisions of {first}, which reads use, were made before any use had been measured:"
        " it placed as it does without."
    )


def _containers(found: Results) -> int:
    return int(found.manifest.get("workload", {}).get("containers") or 0)
