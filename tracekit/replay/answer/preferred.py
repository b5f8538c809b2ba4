"""Which policy goes first that chance does not tell from the best: least risk, then simplest.

The measure that decides tells which policies are within chance of the best; to pick the best mean
of those would be to read what the orders do not tell.
"""

import dataclasses
from collections.abc import Sequence

from tracekit.replay.answer.fitness import limits, yardstick
from tracekit.replay.answer.intervals import interval_of
from tracekit.replay.answer.left_waiting import left
from tracekit.replay.answer.may_answer import may_answer
from tracekit.replay.answer.overload import OVERLOAD
from tracekit.replay.answer.standings import Standing, difference
from tracekit.replay.chance.material import too_near
from tracekit.replay.measures import Measure
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED

#: What clusters run already: to keep it costs nobody anything.
USUAL = "default_scheduler"
#: Rules that need no knowledge of use: what anything cleverer has to be better than.
SIMPLE = (
    "first_fit", "best_fit", "worst_fit", "random",
    "least_allocated", "most_allocated", "least_requested", "most_requested",
)  # fmt: skip


def preferred(found: Results, rows: Sequence[Standing]) -> tuple[Standing, ...]:
    """The rows, the first choice first, without those that another one beats.

    Those go first for which chance rules out more overload than a policy may cause, of the others
    the least overloaded; of these those that leave the fewest waiting, then ``USUAL``, then simple
    rules, then as they stand by the measure.

    Parameters
    ----------
    rows : sequence of Standing
        Which chance does not tell apart by the measure that decides, the best mean first. A row
        goes that one of no more risk is better than beyond chance by another measure that may
        answer, and that is better than that one by none.

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


def _run_by_somebody(found: Results, names: Sequence[str]) -> Sequence[str]:
    return [name for name in names if not yardstick(found, name)] or names


def _by_simplicity(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=_simplicity))


def _beaten(
    found: Results, row: Standing, other: Standing, risks: dict[str, tuple[bool, float]]
) -> bool:
    one, two = row.names[0], other.names[0]
    if one == two or risks[two] > risks[one]:
        return False
    return _worse(found, one, two) and not _worse(found, two, one)


def _worse(found: Results, policy: str, other: str) -> bool:
    """Whether it is worse than the other, beyond chance, by a measure that may answer."""
    apart = ((one, difference(found, policy, other, one.name)) for one in may_answer(found))
    return any(
        told is not None
        and told.apart
        and (told.mean > 0) == (one.better == "low")
        and _matters(found, one, policy, other)
        for one, told in apart
    )


def _matters(found: Results, measure: Measure, policy: str, other: str) -> bool:
    """Whether the two differ by more than nothing hangs on."""
    return not too_near(measure, [found.of(one, measure.name).mean() for one in (policy, other)])


def better_than_production(found: Results, policy: str, measure: str) -> bool:
    """Whether it is better by the measure, beyond chance; where production is not known it is."""
    if OBSERVED not in found.policies:
        return True
    told = difference(found, policy, OBSERVED, measure)
    return (
        told is not None
        and told.apart
        and (told.mean < 0) == (found.measures[measure].first == "low")
        and _matters(found, found.measures[measure], policy, OBSERVED)
    )
