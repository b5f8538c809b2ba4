"""The error of a study of the fewest nodes under whose limits no policy runs, on any number."""

import math
from collections.abc import Mapping
from typing import Any

from tracekit.answer.fewest.search.broken_limit import Broken, plain
from tracekit.answer.fewest.search.too_few import TooFewError
from tracekit.errors import TracekitError
from tracekit.words import counted

#: Why neither a policy nor more nodes may help.
_STAYS = (
    "what ran at the beginning stays where it was (start=observed), whatever the policy and the"
    " nodes: without that assumption all are placed anew"
)


def no_answer(
    problems: Mapping[str, TracekitError],
    observed: Mapping[str, Any],
    nodes: int,
    *,
    stays: bool = False,
) -> TracekitError:
    """The error where no policy has an answer: why of each, and what would have held.

    ``stays`` is whether what ran at the beginning was left where it was.
    """
    details = [f"{name}: {one.what}" for name, one in problems.items()]
    every = f"under none of {counted(len(problems), 'policy')} do the limits hold"
    what = f"{every}, not even on all {counted(nodes, 'node')}" if len(problems) > 1 else details[0]
    hints = [one.hint for one in problems.values() if one.hint]
    holds = _what_holds(problems, observed)
    if holds and stays:
        holds = f"{holds}; {_STAYS}"
    return TracekitError(
        what,
        hint=_alone(problems) or holds or next(iter(hints), None),
        details=details if len(problems) > 1 else (),
    )


def _alone(problems: Mapping[str, TracekitError]) -> str | None:
    """The container that by itself breaks a limit under every policy, if that is why."""
    found = {one.alone for one in problems.values() if isinstance(one, TooFewError)}
    return next(iter(found)) if len(found) == 1 and "" not in found else None


def _what_holds(problems: Mapping[str, TracekitError], observed: Mapping[str, Any]) -> str | None:
    """The policy that came nearest to the limit that most broke, and what production has."""
    broken = {
        name: one.broken
        for name, one in problems.items()
        if isinstance(one, TooFewError)
        and one.broken
        and one.broken.value is not None
        and not one.broken.too_little
    }
    told = [one for one in broken.values() if not one.measure.startswith("pending")]
    if not told:
        return None
    measure = max({one.measure for one in told}, key=[one.measure for one in told].count)
    value, name, where = min(
        _nearest(name, one, problems[name])
        for name, one in broken.items()
        if one.measure == measure
    )
    usual = observed.get(measure)
    beside = "" if usual is None else f"; production itself reaches {measure} {plain(usual)}"
    return (
        f"{name} comes nearest, with {measure} {_up(value)} {where}: loosen"
        f" the limit to that, lower the load with --scale, or try another policy{beside}"
    )


def _nearest(name: str, broken: Broken, problem: TracekitError) -> tuple[float, str, str]:
    """The value nearest to the limit, the policy, and where it comes to that."""
    nearer = problem.nearer if isinstance(problem, TooFewError) else None
    if nearer is None:
        return broken.value or 0.0, name, "in its worst order of arrival"
    nodes, value = nearer
    return value, name, f"on {counted(nodes, 'node')} in the worst order of arrival"


def _up(value: float) -> str:
    """In four digits, and never below what it is: a limit of that holds."""
    rounded = float(f"{value:.3e}")
    if rounded < value:
        rounded += 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{rounded:.4g}" if rounded != round(rounded) else f"{rounded:.0f}"
