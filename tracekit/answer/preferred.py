"""The policies that a run recommends, and which goes first: least risk, then simplest.

The measure that decides tells which policies are within chance of the best; to pick the best mean
of those would be to read what the orders do not tell.
"""

import dataclasses
from collections.abc import Sequence

from tracekit.answer.fitness import (
    LeftOut,
    above_on_average,
    limits,
    production_overloads,
    yardstick,
)
from tracekit.answer.intervals import interval_of
from tracekit.answer.left_waiting import PENDING, carries_less, left
from tracekit.answer.may_answer import broken_condition, may_answer, placing_all
from tracekit.answer.standings import Standing, Standings, difference, standings
from tracekit.replay.chance.material import MATERIAL, too_near
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import COST_PER_HOUR, NODES, OVERLOAD, Measure
from tracekit.replay.policy.entrant import USUAL
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.may_wait import WAITING_SHARE
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED

#: Rules that need no knowledge of use: what anything cleverer has to be better than.
SIMPLE = (
    "first_fit", "best_fit", "worst_fit", "random",
    "least_allocated", "most_allocated", "least_requested", "most_requested",
)  # fmt: skip


def preferred(found: Results, rows: Sequence[Standing]) -> tuple[Standing, ...]:
    """The rows, the first choice first, without those that another one beats.

    These rules put them in order, one after the other. Rows for which chance rules out too much
    overload go first, then the less overloaded ones. Then the fewest waiting, then ``USUAL``, then
    simple rules, then the better by the measure that decides, then the better by the other measures
    that may answer, then the name. The order in which policies were asked for does not count.

    Parameters
    ----------
    rows : sequence of Standing
        Rows that chance does not tell apart by the measure that decides, the best mean first. A row
        is removed where another of no more risk is better, beyond chance, by another measure that
        may answer, and is worse by none.

    Returns
    -------
    tuple of Standing
        Within a row the names in the same order, without yardsticks.
    """
    names = {row.names[0]: _by_simplicity(_run_by_somebody(found, row.names)) for row in rows}
    risks = {row.names[0]: _risk(found, row.names[0]) for row in rows}
    beaten = [row for row in rows if any(_beaten(found, row, one, risks) for one in rows)]
    unbeaten = [row for row in rows if row not in beaten] or rows
    ordered = sorted(
        unbeaten,
        key=lambda row: (
            risks[row.names[0]],
            left(found, row.names[0]),
            _simplicity(names[row.names[0]][0]),
            next((at for at, one in enumerate(rows) if one.mean == row.mean), len(rows)),
            _by_others(found, row.names[0]),
            names[row.names[0]],
        ),
    )
    return tuple(dataclasses.replace(row, names=names[row.names[0]]) for row in ordered)


def why_first(found: Results, rows: Sequence[Standing], measure: str) -> str:
    """Why the first of the preferred is that, a clause; empty where its mean is the best."""
    first, *others = rows
    sign = 1 if found.measures[measure].first == "low" else -1
    ahead = [row for row in others if sign * row.mean < sign * first.mean]
    if not ahead:
        return ""
    best = min(ahead, key=lambda row: sign * row.mean).names[0]
    risks = [_risk(found, name) for name in (first.names[0], best)]
    if risks[0][0] < risks[1][0]:
        return f"chance does not rule out that {best} overloads nodes more than a policy may"
    if risks[0] < risks[1]:
        return f"it overloads nodes less than {best}"
    if left(found, first.names[0]) < left(found, best):
        return f"it leaves fewer containers without a node than {best}"
    is_usual = first.names[0] == USUAL
    return "it is what clusters run already" if is_usual else "it is the simpler rule"


def rules_out_overload(found: Results, policy: str) -> bool:
    """Whether chance rules out that a policy overloads nodes more than it may."""
    high, at = interval_of(found, policy).high, list(found.measures)
    return all(
        bool(high[at.index(name)] <= most)
        for name, most in limits(found).items()
        if found.known(policy, name)
    )


def _risk(found: Results, policy: str) -> tuple[bool, float]:
    """Less is less risk: whether more overload than it may is possible, and then how much it is."""
    if rules_out_overload(found, policy):
        return False, 0.0
    known = found.known(policy, OVERLOAD)
    return True, float(found.of(policy, OVERLOAD).mean()) if known else 0.0


def _simplicity(name: str) -> int:
    return 0 if name == USUAL else 1 if name in SIMPLE else 2


def _by_others(found: Results, policy: str) -> list[float]:
    """Its means by the measures that may answer, less is better; what is not known goes last."""
    signs = {one.name: 1 if one.better == "low" else -1 for one in may_answer(found)}
    return [
        sign * float(found.of(policy, name).mean()) if found.known(policy, name) else float("inf")
        for name, sign in signs.items()
    ]


def _run_by_somebody(found: Results, names: Sequence[str]) -> Sequence[str]:
    return [name for name in names if not yardstick(found, name)] or names


def _by_simplicity(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (_simplicity(name), name)))


def _beaten(
    found: Results, row: Standing, other: Standing, risks: dict[str, tuple[bool, float]]
) -> bool:
    one, two = row.names[0], other.names[0]
    if one == two or risks[two] > risks[one]:
        return False
    return _worse(found, one, two) and not _worse(found, two, one)


def _worse(found: Results, policy: str, other: str) -> bool:
    """Whether it is worse than the other, beyond chance, by a measure that may answer."""
    less = found.waited(other) and not found.waited(policy)
    apart = (
        (one, difference(found, policy, other, one.name))
        for one in may_answer(found)
        if not (less and carries_less(found, other, one))
    )
    return any(
        told is not None
        and told.apart
        and (told.mean > 0) == (one.better == "low")
        and _matters(found, one, policy, other)
        for one, told in apart
    )


def _matters(found: Results, measure: Measure, policy: str, other: str) -> bool:
    """Whether the two differ by more than is as good as equal."""
    return not too_near(measure, [found.of(one, measure.name).mean() for one in (policy, other)])


def better_than_production(found: Results, policy: str, measure: str) -> bool:
    """Whether it is better by the measure, beyond chance; where production is not known it is."""
    if OBSERVED not in found.policies:
        return True
    told = difference(found, policy, OBSERVED, measure)
    less = carries_less(found, policy, found.measures[measure])
    return (
        told is not None
        and not (less and not found.waited(OBSERVED))
        and told.apart
        and (told.mean < 0) == (found.measures[measure].first == "low")
        and _matters(found, found.measures[measure], policy, OBSERVED)
    )


def best_of(
    found: Results, fit: Sequence[tuple[str, ...]], barred: Sequence[LeftOut]
) -> tuple[str, tuple[Standing, ...]]:
    """The first measure that tells the policies apart which may be chosen, and its best rows.

    Where production is known, the best has to be better than production by it. Where none is,
    those come first that need fewer nodes than production, if nodes without containers are free.
    Where no measure tells them apart and others are barred, the condition that bars those decides.
    Policies that place all go before those that leave some waiting.
    """
    for among in (placing_all(found, fit), fit):
        tells = telling(found, among)
        # the lowest mean may be a noisy one that nothing is told of; what is told counts
        for by, rows in (
            (PENDING, _placing_more(found, among)),
            (OVERLOAD, _relieving(found, among)),
            *((one.name, _first(found, stand.best, one.name)) for one, stand in tells),
            _alike_and_better(found, held(found, among), apart=bool(tells)),
            *((name, _fewer(found, among, name)) for name in (NODES, COST_PER_HOUR)),
        ):
            if rows:
                return by, rows
    if tells and not any(_less_overload(found, names[0]) for names in fit):
        return "", ()
    broken = broken_condition(found, fit, barred)
    rows = in_order(found, fit, broken) if broken else ()
    if not rows or all(one.names == (OBSERVED,) for one in barred):
        return "", ()
    return ("", ()) if production_holds(found, barred) else (broken, rows)


def held(found: Results, fit: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Those that overload no more than allowed on average: others are not recommended."""
    return [names for names in fit if not above_on_average(found, names[0])]


def _first(found: Results, rows: Sequence[Standing], measure: str) -> tuple[Standing, ...]:
    """Those that are better than production, the first choice first."""
    better = _better_rows(found, rows, measure)
    return preferred(found, better) if better else ()


def _relieving(found: Results, fit: Sequence[tuple[str, ...]]) -> tuple[Standing, ...]:
    """The policies that overload less than production, where it does so more than a little."""
    if not production_overloads(found):
        return ()
    stand = standings(found, OVERLOAD, among=fit)
    return _first(found, stand.best or stand.rows, OVERLOAD)


def _placing_more(found: Results, fit: Sequence[tuple[str, ...]]) -> tuple[Standing, ...]:
    """The policies that place all, where production left more than a few without a node."""
    if OBSERVED not in found.policies or not found.waited(OBSERVED):
        return ()
    containers = found.manifest.get("workload", {}).get("containers") or 0
    if float(found.of(OBSERVED, PENDING).mean()) <= WAITING_SHARE * containers:
        return ()
    stand = standings(found, PENDING, among=placing_all(found, fit))
    return _first(found, stand.best or stand.rows, PENDING)


def _alike_and_better(
    found: Results, fit: Sequence[tuple[str, ...]], *, apart: bool
) -> tuple[str, tuple[Standing, ...]]:
    """The first measure by which policies that nothing tells ``apart`` are better than now."""
    if (apart and len(fit) != 1) or OBSERVED not in found.policies:
        return "", ()
    for one in may_answer(found):
        rows = [row for row in standings(found, one.name, among=fit).rows if row.orders >= FEWEST]
        if better := _better_rows(found, rows, one.name):
            return one.name, preferred(found, better)
    return "", ()


def in_order(found: Results, fit: Sequence[tuple[str, ...]], measure: str) -> tuple[Standing, ...]:
    """The policies that met enough orders and cannot be told apart, in their order."""
    rows = (standings(found, measure).row(names[0]) for names in held(found, fit))
    return preferred(found, [row for row in rows if row is not None and row.orders >= FEWEST])


def production_holds(found: Results, barred: Sequence[LeftOut]) -> bool:
    """Whether production's placement is known and does nothing that bars a policy."""
    return OBSERVED in found.policies and all(OBSERVED not in one.names for one in barred)


def _better_rows(found: Results, rows: Sequence[Standing], measure: str) -> list[Standing]:
    held = [row for row in rows if not above_on_average(found, row.names[0])]
    return [row for row in held if better_than_production(found, row.names[0], measure)]


def telling(found: Results, fit: Sequence[tuple[str, ...]]) -> list[tuple[Measure, Standings]]:
    """The measures that may answer and tell policies apart, in order, with how these stand."""
    every = ((one, standings(found, one.name, among=fit)) for one in may_answer(found))
    return [(one, stand) for one, stand in every if stand.tells]


def _less_overload(found: Results, policy: str) -> bool:
    told = difference(found, policy, OBSERVED, OVERLOAD)
    return told is not None and told.apart and told.mean < 0


def _fewer(found: Results, fit: Sequence[tuple[str, ...]], name: str) -> tuple[Standing, ...]:
    """The policies with the fewest nodes, or cheapest, if production has more beyond chance."""
    if not (found.known(OBSERVED, name) and fit):
        return ()
    # a node that holds no container is in use by what no container explains: it cannot go
    if background(found.manifest.get("workload", {})):
        return ()
    stand = standings(found, name, among=fit)
    best = stand.best or stand.rows * (not stand.tells)
    if not best or best[0].orders < FEWEST:
        return ()
    told = difference(found, best[0].names[0], OBSERVED, name)
    usual = float(found.of(OBSERVED, name).mean())
    fewer = told is not None and told.apart and told.mean < -MATERIAL * usual
    return preferred(found, _better_rows(found, best, name)) if fewer else ()
