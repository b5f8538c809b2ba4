"""Limits that fewer nodes have to keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tracekit.answer.admissible import WAITING
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.words import RESOURCES
from tracekit.cluster.declared import Ceiling
from tracekit.replay.measures import OVERLOAD, all_measures, find_measure
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.thresholds import LIMIT, Threshold, at_most

#: The measures of the ceiling: CPU at the 99th percentile over time, and highest memory.
CPU, MEMORY = "cpu_p99_over_time_fraction", "memory_max_fraction"
#: The measure of how often nodes are above the ceiling.
ABOVE = "above_ceiling_node_steps"
#: The limits by which every container gets a node at once.
NOBODY_WAITS = tuple(at_most(measure, 0) for measure in WAITING)
_DECIMALS = 9

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Margin:
    """A limit and the value that a replay has for it.

    Parameters
    ----------
    value, allowed : float, optional
        The replay's value, None if unknown, and the largest value that the limit allows. The latter
        is None for a limit that does not compare two values.
    lost : str
        The zone that is lost in this replay; empty for none.
    """

    limit: Threshold
    value: float | None
    allowed: float | None
    lost: str = ""

    @property
    def measure(self) -> str:
        """The measure of the limit."""
        return self.limit.measure

    @property
    def room(self) -> float | None:
        """The room below the limit, ``(allowed - value) / allowed``; below 0 where it breaks.

        None where the limit is no upper limit, or allows 0.
        """
        if self.value is None or not self.allowed or not self.limit.caps:
            return None
        return (self.allowed - self.value) / self.allowed


@dataclass(frozen=True)
class Limits:
    """All limits of a search for the fewest nodes; they have to hold in each order of arrival.

    Parameters
    ----------
    given : tuple of Threshold
        The limits that the user gave.
    ceiling : tuple of Threshold
        Default limits on use; a given limit on the same resource replaces them.
    waiting : tuple of Threshold
        Default limits on waiting containers; a given limit on waiting replaces them.
    observed : mapping
        Production's measures, for limits that compare with them.
    """

    given: tuple[Threshold, ...] = ()
    ceiling: tuple[Threshold, ...] = ()
    waiting: tuple[Threshold, ...] = NOBODY_WAITS
    observed: Row = field(default_factory=dict)

    def of(self, policy: str) -> list[Threshold]:
        """Return the limits that apply to a policy.

        They are the user's limits on it or on all policies, and the defaults that these leave.
        """
        given = [one for one in self.given if one.policy in (None, policy)]
        named = {name for one in given for name in one.measures}
        waiting = [one for one in self.waiting if one.measure not in named]
        return [*waiting, *(one for one in self.ceiling if not _replaced(one, named)), *given]

    def on_use(self, policies: Iterable[str]) -> list[Threshold]:
        """Return the limits of some policies, each once, without the default limits on waiting."""
        every = [one for policy in policies for one in self.of(policy)]
        others = {id(one): one for one in every if not any(one is it for it in self.waiting)}
        return list(others.values())

    def as_with_all(self, most: int, steps: int) -> Limits:
        """Return these limits, but allow as many waiting containers as with all nodes.

        Parameters
        ----------
        most : int
            The most containers that may wait.
        steps : int
            How many steps each of them may wait.
        """
        as_base = (at_most(measure, "base") for measure in WAITING)
        few = (at_most(WAITING[0], most), at_most(WAITING[1], most * steps))
        return replace(self, waiting=(*as_base, *few))

    def as_production(self) -> Limits:
        """Return limits that let nodes be full (above the ceiling) as often as in production."""
        return replace(self, ceiling=(at_most(ABOVE, OBSERVED),))

    def broken(self, policy: str, base: Row, row: Row) -> list[Margin]:
        """Return the limits that a row of a summary breaks, without those of ``broken_at_the_end``.

        Parameters
        ----------
        base : mapping
            The row of the same policy and order of arrival on all nodes.
        """
        return [
            self._margin(one, base, row)
            for one in self.of(policy)
            if not _falls(one) and not one.met(base, row, self.observed)
        ]

    def broken_at_the_end(self, policy: str, base: Row, row: Row) -> list[Margin]:
        """Return broken limits on measures that fall with the number of nodes, such as the cost.

        During a search they do not count, as removing nodes mends them.
        """
        # sums of decimal prices, so that 2.6 is not above 2.6
        plain = {one: round(row[one], _DECIMALS) for one in row if isinstance(row[one], float)}
        return [
            self._margin(one, base, row)
            for one in self.of(policy)
            if _falls(one) and not one.met(base, {**row, **plain}, self.observed)
        ]

    def tightest(self, policy: str, base: Row, row: Row) -> Margin | None:
        """Return the limit that is nearest to breaking, or is broken most; see ``Margin.room``.

        None where no limit is an upper limit.
        """
        every = (self._margin(one, base, row) for one in self.of(policy) if not _falls(one))
        capped = [(one.room, at, one) for at, one in enumerate(every) if one.room is not None]
        return min(capped)[2] if capped else None

    def most(self, policy: str, measure: str) -> float:
        """Return the highest value that the limits allow for a measure; infinite without one."""
        highest = []
        for one in self.of(policy):
            if one.caps and one.measure == measure and not one.speaks_of("base"):
                nothing = dict.fromkeys(one.names)
                highest.append(one.sides(nothing, nothing, {**nothing, **self.observed})[1])
        return min((one for one in highest if one is not None), default=float("inf"))

    def nobody_waits(self, policy: str) -> bool:
        """Return whether the limits are broken by any container that waits for a node.

        Only the steps that count in results are looked at.
        """
        return self.most(policy, WAITING[1]) < 1

    def of_waiting(self, margin: Margin) -> bool:
        """Return whether a limit is one of the default limits on waiting."""
        return any(one is margin.limit for one in self.waiting)

    def _margin(self, limit: Threshold, base: Row, row: Row) -> Margin:
        sides = limit.sides(base, row, self.observed)
        allowed = sides[1] if limit.two_sided else None
        return Margin(limit, row.get(limit.measure), allowed)


def limits_at(ceiling: Ceiling, given: Sequence[Threshold], observed: Row | None) -> Limits:
    """Return the limits of a search: the user's, and defaults from the ceiling and on waiting.

    Parameters
    ----------
    observed : mapping, optional
        Production's measures; None where its placement is not recorded.
    """
    usual = (at_most(CPU, ceiling.cpu_fraction), at_most(MEMORY, ceiling.memory_fraction))
    return Limits(tuple(given), usual, observed=observed or {})


def check_limits(
    limits: Iterable[Threshold],
    policies: Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    recorded: bool = True,
) -> None:
    """Raise TracekitError for a limit that names an unknown policy or measure.

    A limit that compares with production raises it, too, unless the placement is recorded.

    Parameters
    ----------
    measures : sequence of str, optional
        The measures of the workload; without it the measures of any workload.
    recorded : bool
        Whether production's placement is recorded.
    """
    for one in limits:
        given = f"{LIMIT} '{one.text}'"
        if one.policy is not None and one.policy not in policies:
            raise TracekitError(
                f"{given}: policy '{one.policy}' is not replayed",
                hint=f"policies: {', '.join(policies)}",
            )
        for name in one.names:
            have = find_measure(name) is not None if measures is None else name in measures
            if not have and name != "placed":
                close = nearest(name, measures or all_measures())
                raise TracekitError(
                    f"{given}: no measure is named '{name}'",
                    hint=f"did you mean {close}?" if close else "tracekit list measures",
                )
        if one.speaks_of(OBSERVED) and not recorded:
            raise TracekitError(
                f"{given}: the workload does not record where production ran its containers, so"
                " 'observed' is not known",
                hint="compare with a number, or with 'base', the same policy on all nodes",
            )


def _replaced(ceiling: Threshold, named: Iterable[str]) -> bool:
    """Whether a given limit replaces this limit of the ceiling."""
    own = next((f"{name}_" for name in RESOURCES if ceiling.measure.startswith(f"{name}_")), ABOVE)
    return any(name.startswith(own) or name in (OVERLOAD, ABOVE) for name in named)


def _falls(limit: Threshold) -> bool:
    """Whether a limit caps a measure that falls with the number of nodes."""
    measure = find_measure(limit.measure)
    return measure is not None and measure.falls and limit.caps
