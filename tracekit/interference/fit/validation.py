"""Cross-validation of the regression against the constant model: the service's mean alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.words import counted
from tracekit.interference.fit.linear import Linear, solve
from tracekit.interference.fit.options import How
from tracekit.interference.fit.table import Table, service_means

FOLDS = 5
#: Columns of the comparison of models.
COMPARED = {
    "model": pl.String,
    "cv_rmse": pl.Float64,
    "cv_rmse_constant": pl.Float64,
    "saved_share": pl.Float64,
    "saved_low": pl.Float64,
    "saved_high": pl.Float64,
}


@dataclass(frozen=True)
class Held:
    """Errors on rows that were held out: root mean squares; NaN where nothing could be held."""

    rmse: float
    rmse_constant: float

    @property
    def better(self) -> bool:
        """Whether neighbours help to foretell a row that was not seen."""
        return self.rmse < self.rmse_constant


#: Of a fit that was not made.
NOTHING_HELD = Held(float("nan"), float("nan"))


def folds_of(groups: IntArray, rng: np.random.Generator) -> IntArray:
    """A fold for each row, rows of one group together; shape (rows,)."""
    names, at = np.unique(groups, return_inverse=True)
    order = rng.permutation(len(names))
    return (order % FOLDS)[at].astype(np.int64)


def validate(regressors: FloatArray, target: FloatArray, fold: IntArray, how: How) -> Held:
    """Errors of one service's line, each fold being foretold from the others."""
    return _foretold(lambda _: (regressors, target), fold, how, intercept=True)


def validate_pooled(table: Table, fold: IntArray, how: How) -> Held:
    """As ``validate``, for the line that all services share apart from their means."""
    return _foretold(lambda train: deviations(table, train), fold, how, intercept=False)


def _foretold(
    known: Callable[[BoolArray], tuple[FloatArray, FloatArray]],
    fold: IntArray,
    how: How,
    *,
    intercept: bool,
) -> Held:
    """The errors of every fold together; ``known`` are regressors and target by training rows."""
    missed, missed_constant, many = 0.0, 0.0, 0
    for held in range(FOLDS):
        train = fold != held
        columns, target = known(train)
        test = ~train & np.isfinite(target)
        if not test.any() or train.sum() <= columns.shape[1] + intercept:
            continue
        found = solve(columns[train], target[train], how, intercept=intercept)
        constant = target[train].mean() if intercept else 0.0
        missed += float(((target[test] - (found[0] + columns[test] @ found[1:])) ** 2).sum())
        missed_constant += float(((target[test] - constant) ** 2).sum())
        many += int(test.sum())
    if not many:
        return NOTHING_HELD
    return Held(float(np.sqrt(missed / many)), float(np.sqrt(missed_constant / many)))


def deviations(table: Table, train: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Regressors and target less their service's means over the training rows."""
    columns = table.regressors - service_means(table, table.regressors, train)[table.service]
    return columns, table.target - service_means(table, table.target, train)[table.service]


# A plain word for how far a fit can be trusted, with the reason.

Verdict = Literal["usable", "weak", "not identifiable"]
USABLE: Verdict = "usable"

#: Rows of a service that a line of its own needs (specification 9.5).
LEAST_ROWS = 8
#: Instances that it needs where rows of one instance err together: errors come of leaving instances
#: out in turn, and of two there is one degree of freedom.
LEAST_INSTANCES = 3
#: Why instances count there, and not rows.
DEPENDENT = "as rows of one instance are not independent"
#: Beyond this, digits of the coefficients are decided by the last digits of the data.
MOST_CONDITION = 1000.0
#: Where collinearity begins to hurt (Belsley, Kuh & Welsch 1980).
HIGH_CONDITION = 30.0
SIGNIFICANT = 0.05


def lacking(rows: int, *, needed: int = LEAST_ROWS, instances: int | None = None) -> str:
    """What is too few for a fit, in a clause; empty where there is enough.

    Parameters
    ----------
    rows, needed : int
        Rows that there are, and how many must be there.
    instances : int, optional
        Instances that the rows are of, where rows of one err together.
    """
    if rows < needed:
        return f"{counted(rows, 'row')}, {needed:,} are needed"
    if instances is not None and instances < LEAST_INSTANCES:
        return f"{counted(instances, 'instance')}, {LEAST_INSTANCES} are needed, {DEPENDENT}"
    return ""


def judge(fitted: Linear | None, held: Held, *, lacks: str, proxy: bool) -> tuple[Verdict, str]:
    """The verdict on a fit and a clause that says why.

    Parameters
    ----------
    fitted : Linear, optional
        None where nothing was fitted.
    lacks : str
        Why nothing was fitted, as ``lacking`` says it.
    proxy : bool
        Whether neighbours are known by their node only: then no fit is better than weak.
    """
    if fitted is None:
        return "not identifiable", lacks
    if fitted.condition > MOST_CONDITION:
        told = f"condition {fitted.condition:.3g}" if np.isfinite(fitted.condition) else "dependent"
        return "not identifiable", f"neighbours do not vary apart from each other ({told})"
    if not fitted.p_value < SIGNIFICANT:
        high = f", condition {fitted.condition:.0f}" if fitted.condition > HIGH_CONDITION else ""
        return "weak", f"no effect beyond chance (p = {fitted.p_value:.2g}{high})"
    if not held.better:
        return "weak", "no better than the service's mean on rows held out"
    if proxy:
        return "weak", "explains, but neighbours are known by their node only"
    saved = 1 - held.rmse / held.rmse_constant
    return USABLE, f"errors on rows held out {100 * saved:.0f} % below the service's mean"
