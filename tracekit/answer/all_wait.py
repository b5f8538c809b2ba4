"""Which policy leaves the fewest containers waiting, where every policy leaves some."""

from collections.abc import Sequence

from tracekit.answer.left_waiting import PENDING, mean_left
from tracekit.answer.standings import standings
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.shown import plain_number
from tracekit.replay.runs.varying import in_the_first
from tracekit.words import few, listed

#: So many names stand in a sentence; of more the first.
_NAMED = 6


def all_wait(found: Results, policies: Sequence[str]) -> str:
    """That containers wait under every policy, and how many under the best, a clause.

    The table below it shows the number that it names.
    """
    least = min(policies, key=lambda policy: mean_left(found, policy))
    never, steps = mean_left(found, least)
    if never:
        return (
            "every policy leaves containers without a node, the fewest"
            f" {least}: {plain_number(never)} left without one{_beside(found, PENDING)}"
        )
    first = in_the_first(found.orders(least))
    all_placed = not any(mean_left(found, policy)[0] for policy in policies)
    return (
        "under every policy some containers wait before they get a node, the least under"
        f" {least}: {plain_number(steps)} container-steps{first}"
        f"; in the end {'all are placed' if all_placed else f'{least} places all'}"
    )


def fewest_waiting(found: Results, measure: str) -> tuple[list[str], list[str]]:
    """The policies within chance of the fewest waiting, the best first; and those that leave more.

    Both are empty where too few orders of arrival were met, or nothing tells policies apart.
    """
    ours = [names for names in found.groups if OBSERVED not in names]
    stand = standings(found, measure, among=ours)
    best = stand.best
    alike = [name for row in best for name in row.names]
    worse = [name for row in stand.rows if row.apart_from_best for name in row.names]
    return (alike, worse) if alike else ([], [])


def _beside(found: Results, measure: str) -> str:
    """Who is within chance of the fewest, and who is worse, clauses; empty if nobody can tell."""
    alike, worse = fewest_waiting(found, measure)
    return told(alike[1:], worse)


def told(alike: Sequence[str], worse: Sequence[str]) -> str:
    """The policies that are alike and those that are worse, as clauses after the first one."""
    near = f"; within chance of that: {_names(alike)}" if alike else ""
    return f"{near}; more, beyond chance: {_names(worse)}" if worse else near


def _names(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _NAMED else few(names)
