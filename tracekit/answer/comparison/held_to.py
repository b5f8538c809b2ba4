"""Whether a run keeps to the thresholds that it is held to beside another."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tracekit.answer.admissible import WAITING
from tracekit.answer.comparison.compared_run import (
    BY_CHANCE,
    CHANCE,
    EXCEEDED,
    HELD,
    NO_BASE,
    NOT_COMPARABLE,
    OPEN,
    ORDERS,
    ComparedRun,
)
from tracekit.base.errors import TracekitError
from tracekit.base.words import and_more
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.threshold_values import WORST, measure_of_base, worst_key
from tracekit.replay.runs.thresholds import Threshold

#: What makes two runs comparable.
SAME_POLICIES = "replay the same policies, with the same parameters"
THRESHOLD_SCHEMA = {
    "threshold": pl.String,
    "policy": pl.String,
    "measure": pl.String,
    "base": pl.Float64,
    "new": pl.Float64,
    "failed": pl.Boolean,
    "outcome": pl.String,
    "judged": pl.String,
    "orders": pl.Int64,
    "new_worst": pl.Float64,
    "base_judged": pl.String,
    "base_worst": pl.Float64,
    "base_measure": pl.String,
}
#: What a threshold is held against: the mean of the orders of arrival, or the worst of them.
MEAN = "mean"


def check(
    threshold: Threshold, before: ComparedRun, after: ComparedRun, common: Sequence[str]
) -> None:
    """Raise TracekitError for a threshold of a policy of one run, or that nothing is held to.

    One that does not speak of the base may be of a policy that is in the new run alone.
    """
    _check_policy(threshold, common if threshold.speaks_of("base") else list(after.rows()))
    _check_compared(threshold, before, after, common)


def _check_policy(threshold: Threshold, known: Sequence[str]) -> None:
    if threshold.policy is not None and threshold.policy not in known:
        base = threshold.speaks_of("base")
        where, have = ("both runs", "both have") if base else ("the new run", "it has")
        raise TracekitError(
            f"--fail-if '{threshold.text}': policy '{threshold.policy}' is not in {where}",
            hint=f"{have}: {', '.join(known)}",
        )


def _check_compared(
    threshold: Threshold, before: ComparedRun, after: ComparedRun, common: Sequence[str]
) -> None:
    """A threshold that passes because nothing is compared would be a gate that is always open."""
    names = _judged(threshold, common)
    if not names:
        raise TracekitError(
            f"--fail-if '{threshold.text}': no policy was compared, both runs have production"
            f" ({OBSERVED}) alone; others are {_few(before, common)} against"
            f" {_few(after, common)}",
            hint=SAME_POLICIES,
        )
    one, other = before.judged_rows(), after.judged_rows()
    if all(None in threshold.sides(one.get(name, {}), other[name]) for name in names):
        why = "it divides by 0 or names measures that are not known"
        raise TracekitError(
            f"--fail-if '{threshold.text}' has no value for any policy: {why}",
            hint="what is known of each: tracekit compare A B, without --fail-if",
        )


def _few(kept: ComparedRun, common: Sequence[str]) -> str:
    names = [name for name in kept.rows() if name not in common]
    return and_more(names[:4], len(names)) or "none"


def _judged(threshold: Threshold, common: Sequence[str]) -> list[str]:
    """The policies that a threshold judges; production, which no change moves, only by its name."""
    return [threshold.policy] if threshold.policy else [n for n in common if n != OBSERVED]


def outcomes(
    thresholds: Sequence[Threshold],
    before: ComparedRun,
    after: ComparedRun,
    changes: pl.DataFrame,
    common: Sequence[str],
) -> pl.DataFrame:
    """What became of each threshold under each policy that it judges, and under those that are new.

    A threshold that holds a measure to a number judges new policies, too. A threshold that speaks
    of the base does not judge a new policy, and the outcome says so. The outcome also says where
    chance may explain the change.

    Parameters
    ----------
    changes : DataFrame
        Policies and ``placed_change``, as the comparison has them.
    """
    one, other = before.judged_rows(), after.judged_rows()
    placed = dict(changes.select("policy", "placed_change").unique().rows())
    by_chance = dict(changes.filter(verdict=CHANCE).group_by("policy").agg("measure").iter_rows())
    added = [name for name in other if name not in common and name != OBSERVED]
    rows = [
        {
            "threshold": threshold.text,
            "policy": policy,
            "measure": threshold.measure,
            "failed": outcome not in {HELD, *OPEN},
            "outcome": outcome,
            "base": one.get(policy, {}).get(of_base or ""),
            "new": other[policy].get(threshold.measure),
            "judged": WORST if threshold.new_of_worst else MEAN,
            "orders": other[policy].get(ORDERS, 1),
            "new_worst": other[policy].get(worst_key(threshold.measure)),
            "base_judged": WORST if threshold.base_of_worst else MEAN,
            "base_worst": one.get(policy, {}).get(worst_key(of_base or "")),
            "base_measure": of_base,
        }
        for threshold in thresholds
        for of_base in (measure_of_base(threshold.condition, threshold.measure),)
        for policy in _judged(threshold, [*common, *added])
        for outcome in (
            _outcome(
                threshold,
                one.get(policy),
                other[policy],
                placed.get(policy, 0.0),
                by_chance.get(policy, ()),
            ),
        )
    ]
    return pl.DataFrame(rows, schema=THRESHOLD_SCHEMA)


def _outcome(
    threshold: Threshold,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    placed_change: float,
    by_chance: Sequence[str],
) -> str:
    """Whether it happened; missing containers, without which nobody can tell, count as failed.

    A threshold beside the base fails only by a change beyond chance, where there are enough orders
    to tell. Chance is known of means alone, so a threshold of the worst order fails by its value.
    """
    if before is None and threshold.speaks_of("base"):
        return NO_BASE
    if threshold.met(before or {}, after):
        means = threshold.speaks_of("base") and not threshold.of_worst
        chance = means and set(threshold.measures) <= set(by_chance)
        return BY_CHANCE if chance else EXCEEDED
    missing = placed_change < 0 and not set(threshold.measures) & set(WAITING)
    return NOT_COMPARABLE if missing and threshold.speaks_of("base") else HELD
