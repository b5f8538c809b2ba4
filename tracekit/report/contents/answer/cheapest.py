"""The policy with the least cost of nodes, where the answer names another one."""

from tracekit.answer.advice import overloads
from tracekit.answer.amounts import (
    difference_text,
    standing_text,
    way,
)
from tracekit.answer.decision import Decision
from tracekit.answer.fitness import above_on_average
from tracekit.answer.may_answer import CONDITIONS, may_answer, may_be_chosen
from tracekit.answer.prices import nodes_told, verb
from tracekit.answer.standings import difference, standings
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import COST_PER_HOUR, small
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.words import listed, spaced


def cheapest(found: Results, told: Decision) -> str:
    """That a policy saves nodes, or what they cost, beyond chance, a sentence; or nothing.

    Where nodes without containers stay, neither end of these measures is better, so they decide
    nothing. A reader who can give nodes back wants to know.
    """
    name = COST_PER_HOUR if COST_PER_HOUR in found.measures else nodes_told(found)
    free = not background(found.manifest.get("workload", {}))
    if not free or OBSERVED not in found.policies or name not in found.measures:
        return ""
    if overloads(found, told.subject):
        return ""
    measure = found.measures[name]
    rows = [
        (row, by)
        for row in standings(found, name, among=may_be_chosen(found)).rows
        if row.orders >= FEWEST and not row.waited and OBSERVED not in row.names
        if not above_on_average(found, row.names[0])
        if (by := difference(found, row.names[0], OBSERVED, name)) is not None
        if by.apart and not by.slight and by.mean < 0
    ]
    if not rows:
        return ""
    best, by = min(rows, key=lambda one: one[0].mean)
    if told.subject in best.names:
        return ""
    policy, title = best.names[0], small(measure.title)
    worse = _worse(found, policy)
    beside = f"; it is worse by {listed(worse)}" if worse else ", and nothing is surely worse"
    return spaced(
        f"Who wants to give nodes back: under {policy} {title} {verb(title)}"
        f" {standing_text(measure, best)}, {difference_text(measure, by)} against"
        f" production{beside}."
    )


def _worse(found: Results, policy: str) -> list[str]:
    """The measures that may decide by which it is worse than production, beyond chance."""
    asked = {*CONDITIONS, *(one.name for one in may_answer(found))}
    return [
        small(one.title)
        for one in found.measures.values()
        if one.name in asked
        and (by := difference(found, policy, OBSERVED, one.name)) is not None
        and way(one, by) == "worse"
    ]
