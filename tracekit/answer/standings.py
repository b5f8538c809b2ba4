"""The ranking of policies by a measure: means over all orders of arrival, and intervals.

The decision, tables and figures read these rankings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.answer.admissible import PENDING, carries_less, waits_too_much
from tracekit.answer.intervals import any_apart, differences_of, interval_of
from tracekit.replay.chance import FEWEST, too_near
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One row of a ranking: policies with equal placements, and their value of the measure.

    Parameters
    ----------
    names : tuple of str
        The policies; their placements are the same in all orders of arrival.
    mean : float
        The mean over the orders.
    low, high : float, optional
        The 95 % interval of the mean, which holds for all rows together; None with fewer orders
        than an interval needs.
    apart_from_best : bool
        Whether the row differs from the best row beyond chance; see ``Difference.apart``.
    orders : int
        The number of orders of arrival.
    waited : bool
        Whether containers waited under the policies, so that they carried less load and are not
        compared with others.
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
        """The upper end of the interval less the mean."""
        return None if self.high is None else self.high - self.mean

    @property
    def below(self) -> float | None:
        """The mean less the lower end of the interval."""
        return None if self.low is None else self.mean - self.low


@dataclass(frozen=True, kw_only=True)
class Standings:
    """The ranking of policies by one measure, the best first; rows with ``waited`` come last.

    Parameters
    ----------
    tells : bool
        Whether any two policies differ by the measure, beyond chance and by 1 % or more.
    """

    measure: str
    rows: tuple[Standing, ...]
    tells: bool

    @property
    def best(self) -> tuple[Standing, ...]:
        """The best row, and the rows that chance does not tell from it; empty unless ``tells``."""
        return tuple(
            row
            for row in self.rows
            if self.tells and not row.waited and not row.apart_from_best and row.orders >= FEWEST
        )

    def row(self, policy: str) -> Standing | None:
        """Return the row of a policy; None if it is not ranked."""
        return next((row for row in self.rows if policy in row.names), None)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One policy's value of a measure less another's, over the orders of arrival.

    Parameters
    ----------
    mean : float
        The mean difference.
    low, high : float, optional
        Its interval, corrected for many comparisons (Holm); None with fewer orders than an interval
        needs.
    apart : bool
        Whether the difference is beyond chance.
    orders : int
        The number of orders that both policies met.
    slight : bool
        Whether the difference is too small to matter; see ``replay.chance.too_near``.
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
    """Return the ranking of a run's policies by a measure.

    Parameters
    ----------
    run : Results, Run or path of a run folder
        One ``Results`` serves many measures: its differences are computed once.
    among : sequence of tuples, optional
        The ``Results.groups`` that are ranked; all groups if not given.
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
    """Whether each group is not compared by a measure, because containers waited under it.

    A group is not compared where too many containers waited. By a measure of use it is not compared
    either where some waited, and another policy placed all containers.
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
    """Return the difference of two policies by a measure; None where either lacks the measure."""
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
