"""A scikit-learn estimator around any other: it learns what is beyond the service's mean."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression

from tracekit.arrays import FloatArray


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
