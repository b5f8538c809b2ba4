"""What the first of the chosen policies gets better, and what it makes worse, in clauses."""

import dataclasses
from collections.abc import Sequence

from tracekit.answer.amounts import (
    difference_text,
    standing_text,
    value_text,
    way,
)
from tracekit.answer.decision import Decision, runner_up
from tracekit.answer.filled import fewer_at_the_mean, stay
from tracekit.answer.left_waiting import carries_less
from tracekit.answer.may_answer import CONDITIONS, may_answer, may_be_chosen
from tracekit.answer.standings import Difference, difference, standings
from tracekit.replay.measures import (
    COST_PER_HOUR,
    NODES,
    NODES_AT_END,
    OVERLOAD,
    Measure,
    find_measure,
    small,
)
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.words import count, listed

#: So many measures that get worse are told; others are counted.
_PRICES = 2
#: What grows by more than this share beside production, of nodes and their cost, is told.
_MUCH_MORE = 0.1
#: More overload than in production in more than this share of the orders is told.
_MOSTLY = 0.5


def price(found: Results, told: Decision) -> tuple[str, bool]:
    """What the first of the chosen makes worse than production, a clause; whether it is a trade.

    It is a trade where a measure is worse beyond chance, or in each order. The correction for all
    comparisons guards against false gains; it must not hide a cost that every order has.
    """
    costs = _beside_production(found, told, "worse")
    sure = [one for one in costs if one[1].apart]
    perhaps = [one for one in costs if not one[1].apart]
    always = [one for one in perhaps if _in_every_order(found, told.chosen[0], one[0])]
    rest = [one for one in perhaps if one not in always]
    worse = f". It is worse by {_named(sure, _PRICES)}" if sure else ""
    left = max(_PRICES - len(sure), 0)
    worse += _perhaps(always, left, f"in each of {found.most_orders} orders")
    worse += _perhaps(rest, max(left - len(always), 0), "on average", again=bool(always))
    paid = _more(found, told)
    # less overload is worth its price; what else costs something is for the reader to weigh
    trade = bool(sure or always or paid) and told.criterion not in CONDITIONS
    return f"{_more_nodes(found, told)}{worse}{_overload(found, told)}{paid}", trade


def _perhaps(
    costs: Sequence[tuple[Measure, Difference]], most: int, how: str, *, again: bool = False
) -> str:
    """What is worse than in production, though chance may explain it, a sentence; or nothing.

    Production is one draw. A value beyond all orders of a policy may be usual for production.
    """
    if not costs:
        return ""
    (first, by), more = costs[0], len(costs) - 1
    why = "chance may explain it"
    why = f"{why}, too" if again else f"production is one draw, so that {why}"
    if not most:
        are = "are" if more else "is"
        return f". {count(more + 1, 'more measure')} {are} worse {how} ({why})"
    end = "higher" if by.mean > 0 else "lower"
    mean = difference_text(first, _mean_alone(by))
    average = "" if how == "on average" else " on average"
    # the doubt is of each of them: a page beside it says that production is better in none
    also = f"; worse, with the same doubt: {_named(costs[1:], max(most - 1, 1), alone=True)}"
    return (
        f". {first.title} {verb(first.title)} {end} {how} ({mean}{average}; {why})"
        f"{also * bool(more)}"
    )


def _overload(found: Results, told: Decision) -> str:
    """That it overloads nodes more in most orders, where nothing else says so; a clause."""
    first, measure = told.chosen[0], found.measures.get(OVERLOAD)
    by = difference(found, first, OBSERVED, OVERLOAD) if measure is not None else None
    if measure is None or by is None or told.criterion == OVERLOAD or by.on_average or by.apart:
        return ""
    usual = found.of(OBSERVED, OVERLOAD).mean()
    if not (found.of(first, OVERLOAD) > usual).mean() > _MOSTLY:
        return ""
    row = standings(found, OVERLOAD).row(first)
    much = "" if row is None else standing_text(measure, row)
    return f"; {small(measure.title)} are {much}, {value_text(measure, float(usual))} in production"


def _more(found: Results, told: Decision) -> str:
    """That its nodes cost much more than those of production; a clause."""
    first, by = told.chosen[0], _much_more(found, told, COST_PER_HOUR)
    measure, row = found.measures.get(COST_PER_HOUR), None
    if by is None or measure is None:
        return ""
    row, title = standings(found, COST_PER_HOUR).row(first), small(measure.title)
    much = "" if row is None else f" {standing_text(measure, row)},"
    return f"; {title} {verb(title)}{much} {difference_text(measure, by)} against production"


def _much_more(found: Results, told: Decision, name: str) -> Difference | None:
    """How much more it takes than production, where that is much and nodes may go; else None."""
    first, measure = told.chosen[0], found.measures.get(name)
    by = difference(found, first, OBSERVED, name) if measure is not None else None
    free = not background(found.manifest.get("workload", {}))
    if measure is None or by is None or not free or told.criterion == name:
        return None
    if not (by.apart or _in_every_order(found, first, measure)):
        return None
    usual = float(found.of(OBSERVED, name).mean())
    return by if by.mean > _MUCH_MORE * usual else None


def _more_nodes(found: Results, told: Decision) -> str:
    """That it takes many more nodes than production, a clause."""
    name = nodes_told(found)
    by = None if told.criterion == NODES else _much_more(found, told, name)
    return "" if by is None else _at_more(found.measures[name], by)


def nodes_told(found: Results) -> str:
    """The measure of nodes that counts: at the end where containers never leave, else the mean."""
    fill = stay(found.manifest.get("workload", {})) and fewer_at_the_mean(found)
    return NODES_AT_END if NODES_AT_END in found.measures and fill else NODES


def _at_more(measure: Measure, by: Difference, than: str = "") -> str:
    """A clause: at 88 more nodes at the end (82 to 94)."""
    said = difference_text(measure, by).removeprefix("+")
    much, _, interval = said.partition(" (")
    when = "at the end" if measure.name == NODES_AT_END else "on average"
    beside = f" than {than}" if than else ""
    return f", at {much} more nodes{beside} {when}{f' ({interval}' if interval else ''}"


def _in_every_order(found: Results, policy: str, measure: Measure) -> bool:
    """Whether it is worse than production in each order of arrival that it met."""
    usual = found.of(OBSERVED, measure.name).mean()
    more = found.of(policy, measure.name) - usual
    return bool((more > 0 if measure.first == "low" else more < 0).all())


def _mean_alone(by: Difference) -> Difference:
    return dataclasses.replace(by, low=None, high=None)


def _named(costs: Sequence[tuple[Measure, Difference]], most: int, *, alone: bool = False) -> str:
    """The first of some measures with their differences; the others are counted.

    Parameters
    ----------
    alone : bool
        Whether only the mean of a difference is told.
    """
    said = [
        f"{small(one.title)} {difference_text(one, _mean_alone(by) if alone else by)}"
        for one, by in costs[:most]
    ]
    if len(costs) > most:
        said.append(count(len(costs) - most, "more measure" if said else "measure"))
    return listed(said)


def cost(found: Results, told: Decision) -> str:
    """What others that may be chosen do better than the first, beyond chance, a clause; or "".

    More nodes count, too, where empty nodes are free. Neither end of that measure is better, but a
    reader who pays for nodes wants to know.
    """
    first, costs = told.chosen[0], []
    asked = [one for one in may_answer(found) if one.name != told.criterion]
    for measure in asked:
        worse = [by for by in _beside_rivals(found, first, measure) if way(measure, by) == "worse"]
        if worse:
            costs.append((measure, max(worse, key=lambda by: abs(by.mean))))
    said = [
        f"{small(measure.title)} {difference_text(measure, by)} against {by.other}"
        for measure, by in costs[:_PRICES]
    ]
    said += [count(len(costs) - _PRICES, "more measure")] if len(costs) > _PRICES else []
    worse_by = f". It is worse by {listed(said)}" if said else ""
    return f"{_nodes_beside_rivals(found, told)}{worse_by}"


def _beside_rivals(found: Results, first: str, measure: Measure) -> list[Difference]:
    rivals = [names[0] for names in may_be_chosen(found) if first not in names]
    known = (difference(found, first, name, measure.name) for name in rivals)
    return [by for by in known if by is not None]


def _nodes_beside_rivals(found: Results, told: Decision) -> str:
    """That it takes more nodes than another that may be chosen, a clause; or nothing."""
    name, first = nodes_told(found), told.chosen[0]
    free = not background(found.manifest.get("workload", {}))
    if name not in found.measures or not free or told.criterion in (name, NODES):
        return ""
    measure = found.measures[name]
    more = [
        by
        for by in _beside_rivals(found, first, measure)
        if by.apart and not by.slight and by.mean > 0
    ]
    if not more:
        return ""
    most = max(more, key=lambda by: by.mean)
    return _at_more(measure, most, "" if most.other == runner_up(found, told) else most.other)


def gains(found: Results, told: Decision) -> list[str]:
    """By which other measures the first of the chosen is better than production, and how much."""
    return [
        f"{small(measure.title)} changes by {difference_text(measure, against)}"
        for measure, against in _beside_production(found, told, "better")
    ]


def _beside_production(
    found: Results, told: Decision, which: str
) -> list[tuple[Measure, Difference]]:
    """Other measures by which the first of the chosen is better beyond chance, or worse.

    They are the measures that may answer, and those that bar a policy. How requests lie is neither.
    """
    asked = {*CONDITIONS, *(one.name for one in may_answer(found))}
    beside = []
    for one in told.measures:
        if one.measure not in asked:
            continue
        measure, against = find_measure(one.measure), one.against_production
        if measure is None or against is None or one.measure == told.criterion:
            continue
        if which == "better" and carries_less(found, told.chosen[0], measure):
            continue
        if way(measure, against, average=True).startswith(which):
            beside.append((measure, against))
    return beside


def verb(title: str) -> str:
    """Whether a measure's title is of one thing or of many."""
    words = title.partition(",")[0].split()
    return "are" if words[0].endswith("s") or words[-1].endswith("s") else "is"
