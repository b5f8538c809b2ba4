"""How policies stand by a measure, over all orders of arrival: means, intervals, who is apart.

The decision, tables and figures read these; nothing else ranks policies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.answer.admissible import PENDING, carries_less, waits_too_much
from tracekit.answer.intervals import any_apart, differences_of, interval_of
from tracekit.replay.chance.student import FEWEST, too_near
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One row: policies that place alike, and what they come to.

    Parameters
    ----------
    names : tuple of str
        Every spelling whose placements are the same in all orders it met.
    mean : float
        Over the orders.
    low, high : float, optional
        The 95 % interval of the mean, wide enough for all rows together; None with fewer orders
        than one needs.
    apart_from_best : bool
        Whether it differs from the best row beyond chance; see ``Difference.apart``.
    orders : int
        How many orders of arrival it met.
    waited : bool
        Whether it left more waiting than it may: then it carried less load, and is not compared.
    """

    names: tuple[str, ...]
    mean: float
    low: float | None
    high: float | None
    apart_from_best: bool
    orders: int
    waited: bool = False

    @property
    def reach(self) -> float | None:
        """How far the interval goes upwards, what stands behind the +-; at 0 it may end below."""
        return None if self.high is None else self.high - self.mean

    @property
    def below(self) -> float | None:
        """How far the interval goes downwards."""
        return None if self.low is None else self.mean - self.low


@dataclass(frozen=True, kw_only=True)
class Standings:
    """The policies by one measure, the best first, those that left containers waiting last.

    Parameters
    ----------
    tells : bool
        Whether the measure tells any two policies apart, beyond chance and by 1 % or more.
    """

    measure: str
    rows: tuple[Standing, ...]
    tells: bool

    @property
    def best(self) -> tuple[Standing, ...]:
        """The best row, and those within chance of it; none where the measure tells nothing."""
        return tuple(
            row
            for row in self.rows
            if self.tells and not row.waited and not row.apart_from_best and row.orders >= FEWEST
        )

    def row(self, policy: str) -> Standing | None:
        """The row that a policy stands in."""
        return next((row for row in self.rows if policy in row.names), None)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One policy's value less another's, order by order.

    Parameters
    ----------
    mean, low, high : float
        ``low`` and ``high`` at the level that many comparisons leave (Holm); None with fewer orders
        than an interval needs.
    apart : bool
        Whether it is beyond chance.
    orders : int
        How many orders both met.
    slight : bool
        Whether it is too small to count, however sure it is; see ``chance.material.too_near``.
    """

    policy: str
    other: str
    measure: str
    mean: float
    low: float | None
    high: float | None
    apart: bool
    orders: int
    slight: bool = False


def standings(
    run: Results | Run | Path | str,
    measure: str,
    *,
    among: Sequence[tuple[str, ...]] | None = None,
) -> Standings:
    """How the policies of a run stand by a measure.

    Parameters
    ----------
    run : Results, Run or path of a run folder
        One ``Results`` serves many measures: the differences are worked out once.
    among : sequence of tuples, optional
        Those of ``Results.groups`` that are ranked; all of them if not given.
    """
    replays = results(run)
    end = replays.measures[measure].first
    ranked = replays.groups if among is None else among
    groups = [names for names in ranked if replays.has_value(names[0], measure)]
    waited = _carry_less(replays, measure, groups)
    middles = {names: float(replays.of(names[0], measure).mean()) for names in groups}
    sign = 1 if end == "low" else -1
    ordered = sorted(groups, key=lambda names: (waited[names], sign * middles[names]))
    rivals = [names for names in ordered if not waited[names]]
    most = max((replays.orders(names[0]) for names in rivals), default=0)
    judged = [names for names in rivals if replays.orders(names[0]) == most]
    best = next(iter(judged), None)
    rows = tuple(_row(replays, measure, names, best, waited=waited[names]) for names in ordered)
    firsts = [names[0] for names in rivals]
    tells = (
        len(rivals) > 1
        and any_apart(replays, measure, firsts)
        and not too_near(replays.measures[measure], [middles[names] for names in rivals])
    )
    return Standings(measure=measure, rows=rows, tells=tells)


def _carry_less(
    replays: Results, measure: str, groups: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], bool]:
    """The policies that are not compared by a measure, as they left containers waiting.

    They left too many; or the measure is of use, they left some, and another policy placed all.
    """
    if measure == PENDING:
        return dict.fromkeys(groups, False)
    one = replays.measures[measure]
    less = {names: carries_less(replays, names[0], one) for names in groups}
    beside_all = not all(less.values())
    return {
        names: waits_too_much(replays, names[0]) or (beside_all and less[names]) for names in groups
    }


def difference(
    run: Results | Run | Path | str, policy: str, other: str, measure: str
) -> Difference | None:
    """How two policies of a run differ by a measure; None where it is not known of both."""
    replays = results(run)
    if not all(replays.has_value(name, measure) for name in (policy, other)):
        return None
    one, two = (next(g for g in replays.groups if name in g) for name in (policy, other))
    about: Any = {"policy": policy, "other": other, "measure": measure}
    orders = min(replays.orders(policy), replays.orders(other))
    means = [float(replays.of(name, measure).mean()) for name in (policy, other)]
    if one == two:
        return Difference(**about, mean=0.0, low=0.0, high=0.0, apart=False, orders=orders)
    if orders < FEWEST or replays.orders(policy) != replays.orders(other):
        both = [replays.of(name, measure)[:orders].mean() for name in (policy, other)]
        apart = float(both[0] - both[1])
        return Difference(**about, mean=apart, low=None, high=None, apart=False, orders=orders)
    pairs, tested = differences_of(replays)
    turned = (one[0], two[0]) not in pairs
    pair = (two[0], one[0]) if turned else (one[0], two[0])
    number = list(replays.measures).index(measure)
    at = pairs[pair] * len(replays.measures) + number
    gap = tested.part(slice(at, at + 1), turned=turned)
    return Difference(
        **about,
        mean=float(gap.mean[0]),
        low=float(gap.low[0]),
        high=float(gap.high[0]),
        apart=bool(gap.separated[0]),
        orders=orders,
        slight=bool(too_near(replays.measures[measure], means)),
    )


def _row(
    replays: Results,
    measure: str,
    names: tuple[str, ...],
    best: tuple[str, ...] | None,
    *,
    waited: bool,
) -> Standing:
    at = list(replays.measures).index(measure)
    interval = interval_of(replays, names[0])
    several = replays.orders(names[0]) >= FEWEST
    other = None if waited or best is None else difference(replays, names[0], best[0], measure)
    return Standing(
        names=names,
        mean=float(interval.mean[at]),
        low=float(interval.low[at]) if several else None,
        high=float(interval.high[at]) if several else None,
        apart_from_best=other is not None and other.apart,
        orders=replays.orders(names[0]),
        waited=waited,
    )
