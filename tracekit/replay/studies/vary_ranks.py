"""Ranks of policies under each change of an assumption, and what each change moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from scipy import stats

from tracekit.errors import TracekitError
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.standings import Standing, Standings, difference, standings

BASE = "as assumed"

#: How the answer under the defaults stands under a change.
SAME, OTHER, UNTOLD = "same", "other", "not told"

_RANKS = {
    "change": pl.String,
    "policy": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "pending": pl.Int64,
    "rank": pl.Float64,
    "best": pl.Boolean,
}
_MOVES = {
    "change": pl.String,
    "agreement": pl.Float64,
    "stands": pl.String,
    "first": pl.String,
    "most_moved": pl.String,
    "places": pl.Float64,
    "problem": pl.String,
}


def ranked(found: Mapping[str, Results], measure: str, problems: dict[str, str]) -> pl.DataFrame:
    """Ranks within each change; ``problems`` gets the changes that lack the measure."""
    rows: list[dict[str, Any]] = []
    for change, one in found.items():
        if not all(one.known(policy, measure) for policy in one.policies):
            problems.setdefault(change, f"the workload has no measure '{measure}'")
            continue
        stand = standings(one, measure)
        pending = dict(one.summary.select("policy", "pending").iter_rows())
        rows += [
            {
                "change": change,
                "policy": policy,
                "value": row.mean,
                "low": row.low,
                "high": row.high,
                "pending": pending[policy],
                "rank": _rank(one, stand, row),
                "best": row in stand.best,
            }
            for row in stand.rows
            for policy in row.names
        ]
    if BASE in problems:
        raise TracekitError(problems[BASE])
    return pl.DataFrame(rows, schema=_RANKS)


def _rank(found: Results, stand: Standings, row: Standing) -> float:
    """1 and one more for each policy that is better beyond chance; those that waited come last.

    Whoever is within chance of the best has rank 1, also where a third differs from it.
    """
    if row in stand.best:
        return 1.0
    ours = [other for other in stand.rows if not other.waited]
    if row.waited:
        return 1.0 + sum(len(other.names) for other in ours)
    sign = 1 if found.measures[stand.measure].first == "low" else -1
    better = 0
    for other in ours if stand.tells else ():
        apart = difference(found, row.names[0], other.names[0], stand.measure)
        if apart is not None and apart.apart and sign * apart.mean > 0:
            better += len(other.names)
    return 1.0 + better


def moved_by(ranks: pl.DataFrame, problems: dict[str, str]) -> pl.DataFrame:
    """What each change does to the answer and the ranks under the defaults; the largest first."""
    usual = ranks.filter(change=BASE)
    base = dict(usual.select("policy", "rank").rows())
    rows: list[dict[str, Any]] = []
    for (change,), part in ranks.group_by("change", maintain_order=True):
        if change == BASE:
            continue
        own = dict(part.select("policy", "rank").rows())
        tau = stats.kendalltau([base[name] for name in own], list(own.values())).statistic
        moved = max(own, key=lambda name: abs(own[name] - base[name]))
        best = part.filter("best")["policy"].to_list()
        rows.append(
            {
                "change": change,
                # where one side ranks all the same it agrees with nothing and contradicts nothing
                "agreement": float(own == base) if tau != tau else float(tau),  # noqa: PLR0124
                "stands": _stands(usual.filter("best")["policy"].to_list(), best),
                "first": ", ".join(best) or None,
                "most_moved": moved,
                "places": float(abs(own[moved] - base[moved])),
                "problem": None,
            }
        )
    rows += [{"change": change, "problem": what} for change, what in problems.items()]
    order = pl.col("stands").replace_strict({OTHER: 0, UNTOLD: 1, SAME: 2}, default=3)
    return pl.DataFrame(rows, schema=_MOVES).sort(order, "agreement", "change", nulls_last=True)


def _stands(usual: Sequence[str], best: Sequence[str]) -> str:
    if not usual or not best:
        return UNTOLD
    return SAME if set(usual) & set(best) else OTHER
