"""Who is ahead of the first choice by the measure that decides, and why it is not chosen."""

from collections.abc import Sequence

from tracekit.replay.answer.may_answer import may_answer
from tracekit.replay.answer.standings import Standing, difference, standings
from tracekit.replay.chance.material import too_near
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import small
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.shown import shown
from tracekit.words import listed

#: So many measures are named by which it is worse.
_NAMED = 2


def ahead(
    found: Results, first: Standing, measure: str, fit: Sequence[tuple[str, ...]]
) -> Standing | None:
    """The row of the best mean of those that may be chosen; None where the first choice has it."""
    sign = 1 if found.measures[measure].first == "low" else -1
    rows = [
        row
        for row in standings(found, measure, among=fit).rows
        if row.orders >= FEWEST and not row.waited and OBSERVED not in row.names
    ]
    best = min(rows, key=lambda row: sign * row.mean, default=first)
    nearer = sign * best.mean < sign * first.mean
    return best if nearer and best.names != first.names else None


def why_not(found: Results, first: Standing, other: Standing, measure: str) -> str:
    """Why who is ahead is not chosen, a clause; empty where no measure tells."""
    worse = [
        small(one.title)
        for one in may_answer(found)
        if (told := difference(found, other.names[0], first.names[0], one.name)) is not None
        and told.apart
        and (told.mean > 0) == (one.better == "low")
        and not too_near(one, [found.of(row.names[0], one.name).mean() for row in (first, other)])
    ]
    if not worse:
        return ""
    value = shown(found.measures[measure], other.mean, other.reach, unit=True)
    more = f" and {len(worse) - _NAMED} more" if len(worse) > _NAMED else ""
    by = f"{', '.join(worse[:_NAMED])}{more}" if more else listed(worse)
    return f"{other.names[0]}, at {value} within chance of it, is worse by {by}"
