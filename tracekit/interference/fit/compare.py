"""Models side by side on the same held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression

from tracekit.base.arrays import FloatArray
from tracekit.interference.fit.models import get_model
from tracekit.interference.fit.table import Table
from tracekit.interference.fit.validation import COMPARED, FOLDS, folds_of


class WithinService(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regress deviations from a service's means on deviations of its regressors.

    The first column of X is the service's number, the others are the regressors. A service that
    was not seen in training is foretold by the mean over all rows.

    Parameters
    ----------
    estimator : scikit-learn regressor or pipeline, optional
        Least squares if None; it is cloned, not changed.
    per_service : bool
        One clone for every service with ``least_rows`` rows, beside the pooled one.
    """

    def __init__(
        self, estimator: Any = None, *, per_service: bool = False, least_rows: int = 8
    ) -> None:
        self.estimator = estimator
        self.per_service = per_service
        self.least_rows = least_rows

    def fit(self, X: FloatArray, y: FloatArray) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn the means and what is beyond them."""
        service = X[:, 0].astype(np.int64)
        size = int(service.max()) + 1
        self.means_ = np.full((size, X.shape[1]), np.nan)
        self.level_ = np.append(X[:, 1:].mean(axis=0), y.mean())
        both = np.column_stack([X[:, 1:], y])
        many = np.bincount(service, minlength=size)
        for at, column in enumerate(both.T):
            total = np.bincount(service, column, size)
            self.means_[:, at] = np.divide(total, many, out=np.full(size, np.nan), where=many > 0)
        beyond = both - self.means_[service]
        base = LinearRegression() if self.estimator is None else self.estimator
        self.pooled_ = clone(base).fit(beyond[:, :-1], beyond[:, -1])
        self.own_: dict[int, Any] = {}
        for number in np.flatnonzero(many >= self.least_rows) if self.per_service else ():
            rows = service == number
            self.own_[int(number)] = clone(base).fit(beyond[rows, :-1], beyond[rows, -1])
        return self

    def predict(self, X: FloatArray) -> FloatArray:  # noqa: N803 - scikit-learn's names
        """What the services' instances use, shape (rows,)."""
        service = X[:, 0].astype(np.int64)
        known = np.where(service < len(self.means_), service, 0)
        means = np.where((service < len(self.means_))[:, None], self.means_[known], np.nan)
        means = np.where(np.isfinite(means), means, self.level_)
        beyond = X[:, 1:] - means[:, :-1]
        found = self.pooled_.predict(beyond)
        for at in np.unique(service):
            if int(at) in self.own_:
                rows = service == at
                found[rows] = self.own_[int(at)].predict(beyond[rows])
        return np.asarray(means[:, -1] + found)


PER_SERVICE = "least_squares_per_service"


class _Nothing(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """No deviation from the mean: the constant model."""

    def fit(self, _x: Any, _y: Any) -> _Nothing:
        self.fitted_ = True
        return self

    def predict(self, x: Any) -> Any:
        return np.zeros(len(x))


def estimators(names: list[str], seed: int) -> dict[str, Any]:
    """Estimators by the names of models; raises TracekitError for an unknown one."""
    made = {name: WithinService(get_model(name).build(seed)) for name in names}
    return {PER_SERVICE: WithinService(per_service=True), **made}


def compare_models(
    table: Table, models: Mapping[str, Any], rng: np.random.Generator
) -> pl.DataFrame:
    """Errors of each model on rows held out, beside those of the service's mean.

    Parameters
    ----------
    models : mapping
        scikit-learn estimators; their X has the service's number first, then the regressors.

    Returns
    -------
    DataFrame
        model, cv_rmse, cv_rmse_constant, ``saved_share`` = 1 - cv_rmse / cv_rmse_constant, and its
        lowest and highest value over the folds; best first.
    """
    columns = np.column_stack([table.service, table.regressors])
    fold = folds_of(table.instance, rng)
    missed = {
        name: _missed(model, columns, table.target, fold)
        for name, model in {"": WithinService(_Nothing()), **models}.items()
    }
    constant = missed.pop("")
    many = np.bincount(fold, minlength=FOLDS)
    rows = []
    for name, found in missed.items():
        saved = 1 - np.sqrt(found[many > 0] / constant[many > 0])
        rmse, base = (float(np.sqrt(sums.sum() / many.sum())) for sums in (found, constant))
        rows.append((name, rmse, base, 1 - rmse / base, float(saved.min()), float(saved.max())))
    return pl.DataFrame(rows, schema=COMPARED, orient="row").sort("cv_rmse", "model")


def _missed(model: Any, columns: Any, target: Any, fold: Any) -> Any:
    """Sums of squared errors, shape (folds,)."""
    sums = np.zeros(FOLDS)
    for held in range(FOLDS):
        test = fold == held
        if test.any() and not test.all():
            found = clone(model).fit(columns[~test], target[~test]).predict(columns[test])
            sums[held] = ((target[test] - found) ** 2).sum()
    return sums
