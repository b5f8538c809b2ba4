"""Limits within which fewer nodes are enough: on measures of the summary, and nobody waits."""

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tracekit.answer.fewest.search.broken_limit import Broken, broken_limit
from tracekit.answer.left_waiting import WAITING
from tracekit.answer.overload import (
    FULL,
    limits_of,
    more_than_with_all,
)
from tracekit.errors import TracekitError
from tracekit.replay.chance.material import least_apart
from tracekit.replay.measures import OVERLOAD, RESOURCES, all_measures, find_measure
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.thresholds import Threshold, parse_threshold

OPTION = "--limit"
#: What holds besides the limits given, unless one of those speaks of the same measure: every
#: container gets a node, and gets it at once. A cluster whose containers queue is too small.
PLACED = tuple(f"{measure} == 0" for measure in WAITING)

#: The same where some wait with all nodes already: no more of them.
PLACED_AS_WITH_ALL = tuple(f"{measure} <= base" for measure in WAITING)

#: Where production fills nodes beyond what they have, fewer nodes may do so no more than the same
#: policy does on all: what it gains by spreading out is not given up.
#: A difference that is too small to count is none.
AS_WITH_ALL = "max(1, base{more})"

_DECIMALS = 9
#: A hundredth of a percent.
_SHOWN = 10_000

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Limits:
    """All that has to hold; see ``parse_limits``.

    Parameters
    ----------
    observed : mapping
        What production came to, for those that compare with it.
    placed : tuple of str
        What holds of containers that wait, unless a given limit speaks of them.
    at_mean : frozenset of str
        Given limits that hold at the mean of the orders of arrival; the others hold in each order.
        In a single order chance makes a policy better or worse than it is, on all nodes, too.
    """

    given: tuple[Threshold, ...]
    observed: Row = field(default_factory=dict)
    placed: tuple[str, ...] = PLACED
    at_mean: frozenset[str] = frozenset()

    def as_with_all(self, most: int, steps: int) -> "Limits":
        """The same, but as many containers may wait as under the policy with all nodes.

        And never more than ``most``, nor at the mean of ``steps``.
        """
        at_most = (f"{WAITING[0]} <= {most}", f"{WAITING[1]} <= {most * steps}")
        return replace(self, placed=(*PLACED_AS_WITH_ALL, *at_most))

    @property
    def measures(self) -> list[str]:
        """The measures that those given speak of, each once."""
        return list(dict.fromkeys(name for one in self.given for name in one.measures))

    def of(self, policy: str) -> list[Threshold]:
        """All that hold for a policy: every container is placed, then those given."""
        given = self._given(policy)
        named = {name for one in given for name in one.measures}
        placed = [parse_threshold(text, OPTION) for text in self.placed]
        return [*(one for one in placed if one.measure not in named), *given]

    def _given(self, policy: str) -> list[Threshold]:
        return [one for one in self.given if one.policy in (None, policy)]

    def speak_of(self, run: str, policy: str) -> bool:
        """Whether a limit compares with another run: ``base`` or ``observed``."""
        return any(one.speaks_of(run) for one in self.of(policy))

    def first_broken(self, policy: str, base: Row, row: Row) -> Broken | None:
        """The first limit that a row of the summary does not keep; None where all hold.

        Limits on what fewer nodes bring down do not count: see ``at_the_end``; nor those that hold
        at the mean. ``base`` is the row of the same policy and order of arrival on all nodes.
        """
        found, aside = self.broken(policy, base, row), self.falling | self.at_mean
        return next((one for one in found if one.limit not in aside), None)

    def broken_at_mean(self, policy: str, base: Row, row: Row) -> Broken | None:
        """The first limit at the mean that a row does not keep; None where all hold.

        Parameters
        ----------
        base, row : mapping
            The mean of each measure over the orders, on all nodes and on fewer.
        """
        found = self.broken(policy, base, row)
        return next((one for one in found if one.limit in self.at_mean), None)

    def at_the_end(self, policy: str, base: Row, row: Row) -> Broken | None:
        """The first limit on what fewer nodes bring down that does not hold; None where all do."""
        # sums of decimal prices, so that 2.6 is not above 2.6
        plain = {
            name: round(row[name], _DECIMALS)
            for name in row
            if _falls(name) and row[name] is not None
        }
        found = self.broken(policy, base, {**row, **plain})
        return next((one for one in found if one.limit in self.falling), None)

    @property
    def falling(self) -> frozenset[str]:
        """The limits that allow no more than something of what fewer nodes bring down."""
        return frozenset(
            one.text
            for one in self.given
            if _falls(one.measure) and isinstance(one.condition.ops[0], ast.LtE | ast.Lt)
        )

    def broken(self, policy: str, base: Row, row: Row) -> list[Broken]:
        """All limits that a row of the summary does not keep; see ``first_broken``."""
        return [
            broken_limit(one, row.get(one.measure), one.sides(base, row, self.observed))
            for one in self.of(policy)
            if not one.met(base, row, self.observed)
        ]

    def room(self, policy: str, base: Row, row: Row, *, at_mean: bool = False) -> dict[str, float]:
        """How far each given limit is from breaking, as a share 0..1 of what it allows.

        Only limits that cap a measure have one. The limits are those that hold ``at_mean``, or the
        others.
        """
        found = {}
        for one in self._given(policy):
            if (one.text in self.at_mean) != at_mean:
                continue
            sides = one.sides(base, row, self.observed)
            plain = len(sides) == 2 and isinstance(one.condition.left, ast.Name)
            most, value = sides[-1], sides[0]
            capped = plain and isinstance(one.condition.ops[0], ast.LtE | ast.Lt | ast.Eq)
            # of nothing allowed nothing can be left
            if capped and most and value is not None:
                found[one.text] = (most - value) / most
        return found

    def nobody_waits(self, policy: str) -> bool:
        """Whether every container present runs at every settled step, as bounds assume."""
        ceiling = self._ceiling(policy, "pending_container_steps")
        return ceiling < 1

    def most_never_placed(self, policy: str) -> float:
        """How many containers may never be placed; infinite where no limit says so plainly."""
        return self._ceiling(policy, WAITING[0])

    def most_use(self, policy: str) -> tuple[float, float]:
        """The share of a node's capacity that use may reach at settled steps: cpu, memory.

        Infinite where no limit says so in the plain form ``MEASURE <= NUMBER``.
        """
        all_ = 1.0 if self._ceiling(policy, OVERLOAD) < 1 else float("inf")
        cpu, memory = (
            min(all_, self._ceiling(policy, f"{name}_max_fraction")) for name in RESOURCES
        )
        return cpu, memory

    def nearly_all_use(self, policy: str) -> tuple[float, float]:
        """As ``most_use``, of 99 nodes in 100."""
        cpu, memory = (self._ceiling(policy, f"{name}_p99_fraction") for name in RESOURCES)
        return cpu, memory

    def mean_use(self, policy: str) -> tuple[float, float]:
        """The share of capacity that use may reach as a mean over nodes and settled steps."""
        cpu, memory = (self._ceiling(policy, f"{name}_mean_fraction") for name in RESOURCES)
        return cpu, memory

    def _ceiling(self, policy: str, measure: str) -> float:
        found = [
            self.observed.get(measure) if _as_production(one) else one.ceiling
            for one in self.of(policy)
            if one.measure == measure
        ]
        return min((one for one in found if one is not None), default=float("inf"))


def parse_limits(
    texts: Sequence[str],
    policies: Sequence[str],
    *,
    observed: Row | None = None,
    node_steps: float = 0,
) -> Limits:
    """The limits given, or else those of ``decision``, and that every container is placed at once.

    The limits of ``decision`` may allow use above what nodes have, as in production; then fewer
    nodes have to do as well as all do. ``observed`` is what production came to, and None where its
    placement is not known.

    Raises
    ------
    TracekitError
        For what is no limit, a measure there is not, a policy that is not replayed, or
        ``observed`` where it is not known.
    """
    recorded = observed is not None
    usual_ones = _usual(observed, node_steps)
    given = [parse_threshold(text, OPTION, typed=bool(texts)) for text in texts or usual_ones]
    usual = dict.fromkeys(["placed", *all_measures()])
    for one in given:
        # the names are looked up as they will be in the rows, which may have further resources
        further = {name: None for name in one.names if find_measure(name) is not None}
        row = {**usual, **further}
        one.sides(row, row, row)
        if one.speaks_of(OBSERVED) and not recorded:
            raise TracekitError(
                f"{OPTION} '{one.text}': the workload does not record where production ran its"
                " containers, so 'observed' is not known",
                hint="compare with a number, or with 'base', the same policy on all nodes",
            )
        if one.policy is not None and one.policy not in policies:
            raise TracekitError(
                f"{OPTION} '{one.text}': policy '{one.policy}' is not replayed",
                hint=f"policies: {', '.join(policies)}",
            )
    # what the policy comes to on all nodes is as much by chance as on fewer
    at_mean = [one.text for one in given if not texts and one.speaks_of("base")]
    return Limits(tuple(given), observed or {}, at_mean=frozenset(at_mean))


def _usual(observed: Row | None, node_steps: float) -> list[str]:
    """The limits of ``decision``, and limits that keep a policy's gain over production.

    ``node_steps`` is as of ``overload.node_steps``.
    """
    found = limits_of(observed, node_steps)
    most = {name: one if name == OVERLOAD else _up(one) for name, one in found.items()}
    usual = [f"{name} <= {written(one)}" for name, one in most.items()]
    usual += [_as_with_all(name) for name, one in found.items() if name in FULL and one > 1]
    more = more_than_with_all((observed or {}).get(OVERLOAD), node_steps)
    beyond = f" + {written(more)}" if more else ""
    return usual if more is None else [*usual, f"{OVERLOAD} <= base{beyond}"]


def _as_with_all(name: str) -> str:
    measure = find_measure(name)
    more = least_apart(measure) if measure is not None else 0.0
    return f"{name} <= {AS_WITH_ALL.format(more=f' + {more:g}' if more else '')}"


def _up(share: float) -> float:
    """A share as people read it; never below what it was."""
    return math.ceil(round(share * _SHOWN, _DECIMALS)) / _SHOWN


def written(value: float) -> str:
    """A number as an expression holds it, exactly."""
    return f"{value:.0f}" if value == round(value) else repr(value)


def _falls(name: str) -> bool:
    """Whether fewer nodes bring it down: a limit on it does not stop the search, but ends it."""
    measure = find_measure(name)
    return measure is not None and measure.falls


def _as_production(limit: Threshold) -> bool:
    """Whether it is of the plain form ``MEASURE <= observed``."""
    left, right = limit.condition.left, limit.condition.comparators[-1]
    names = [one.id for one in (left, right) if isinstance(one, ast.Name)]
    return names == [limit.measure, OBSERVED] and type(limit.condition.ops[0]) in (ast.LtE, ast.Lt)
