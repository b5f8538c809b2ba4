"""Cross-validation of the regression against the constant model: the service's mean alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.interference.fit.how import How
from tracekit.interference.fit.linear import solve
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
