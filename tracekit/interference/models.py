"""Models to compare with the line: estimators of scikit-learn.

A model gets deviations from the means of services, so that any regressor of scikit-learn can be
one: an entry ``"NAME": Model(title=..., build=lambda seed: make_pipeline(...))`` of ``_MODELS``, or
``MODEL`` in a user's own file.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import HuberRegressor, LinearRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tracekit.base import registry
from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError
from tracekit.base.opened import is_file
from tracekit.interference.linear import COMPARED, FOLDS, folds_of
from tracekit.interference.table import Table


@dataclass(frozen=True, kw_only=True)
class Model:
    """A regression model of scikit-learn, to be compared with the linear fit.

    Parameters
    ----------
    build : callable
        Returns an unfitted regressor or pipeline for a seed; equal seeds give equal fits.
    """

    title: str
    build: Callable[[int], Any]


def all_models() -> dict[str, Model]:
    """Return every model, by name."""
    return dict(sorted(_MODELS.items()))


def get_model(name: str) -> Model:
    """Return the model called ``name``, or the ``MODEL`` in a user's file if ``name`` ends in .py.

    Raises TracekitError for an unknown name, or a file without a ``MODEL``.
    """
    if name.endswith(".py"):
        return load_own_model(Path(name))
    return registry.pick(all_models(), name, "model", listing="tracekit list models")


# A user's own model: a Python file with a ``MODEL``.


def load_own_model(path: Path) -> Model:
    """Run a user's Python file, and return its ``MODEL``.

    Raises TracekitError if the file is missing, fails or defines no ``MODEL``.
    """
    hint = "write MODEL = Model(title=..., build=lambda seed: a scikit-learn regressor)"
    if not is_file(path):
        raise TracekitError(f"no such model file: {path}", hint=hint)
    spec = importlib.util.spec_from_file_location(f"tracekit_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise TracekitError(f"{path} is no Python file", hint=hint)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # a file that exits would end this program without a message
        raise TracekitError(f"{path} failed: {type(error).__name__}: {error}", hint=hint) from error
    model = getattr(module, "MODEL", None)
    if not isinstance(model, Model):
        raise TracekitError(f"{path} defines no MODEL", hint=hint)
    return model


_MODELS = {
    # the line of the patent
    "least_squares": Model(title="Least squares", build=lambda _: LinearRegression()),
    # neighbours never help
    "nonnegative": Model(
        title="Least squares, no negative coefficient",
        build=lambda _: LinearRegression(positive=True),
    ),
    # rows far off the line pull less
    "huber": Model(
        title="Huber",
        build=lambda _: make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000)),
    ),
    # on regressors of unit variance, the penalty chosen by cross-validation
    "ridge": Model(
        title="Ridge",
        build=lambda _: make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-3, 3, 7))),
    ),
    # shallow trees and small steps, since regressors are few and noise is much
    "gradient_boosting": Model(
        title="Gradient boosting",
        build=lambda seed: HistGradientBoostingRegressor(
            max_iter=150,
            learning_rate=0.08,
            max_leaf_nodes=8,
            min_samples_leaf=20,
            random_state=seed,
        ),
    ),
}


# Models side by side on the same held-out rows.


class WithinService(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regression on deviations from the means of services, with the interface of scikit-learn.

    The first column of X is the number of the service, and the others are the regressors. A service
    without training rows has the means over all rows.

    Parameters
    ----------
    estimator : scikit-learn regressor or pipeline, optional
        Cloned for each fit; least squares if None.
    per_service : bool
        Whether each service with ``least_rows`` rows has its own fit; others share one.
    """

    def __init__(
        self, estimator: Any = None, *, per_service: bool = False, least_rows: int = 8
    ) -> None:
        self.estimator = estimator
        self.per_service = per_service
        self.least_rows = least_rows

    def fit(self, X: FloatArray, y: FloatArray) -> Self:  # noqa: N803 - scikit-learn's names
        """Compute the means of services, and fit the deviations of ``y`` from them."""
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
        """Return the predicted target of each row: its service's mean plus a deviation, (rows,)."""
        service = X[:, 0].astype(np.int64)
        row = np.where(service < len(self.means_), service, 0)
        means = np.where((service < len(self.means_))[:, None], self.means_[row], np.nan)
        means = np.where(np.isfinite(means), means, self.level_)
        beyond = X[:, 1:] - means[:, :-1]
        deviation = self.pooled_.predict(beyond)
        for at in np.unique(service):
            if int(at) in self.own_:
                rows = service == at
                deviation[rows] = self.own_[int(at)].predict(beyond[rows])
        return np.asarray(means[:, -1] + deviation)


PER_SERVICE = "least_squares_per_service"


class _Nothing(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The constant model, which predicts no deviation from the mean."""

    def fit(self, _x: Any, _y: Any) -> _Nothing:
        self.fitted_ = True
        return self

    def predict(self, x: Any) -> Any:
        return np.zeros(len(x))


def estimators(names: Sequence[str], seed: int) -> dict[str, Any]:
    """Return the estimators of the named models by name, plus least squares for each service alone.

    The result is empty without names. Raises TracekitError for an unknown name.
    """
    if not names:
        return {}
    made = {name: WithinService(get_model(name).build(seed)) for name in names}
    return {PER_SERVICE: WithinService(per_service=True), **made}


def compare_models(
    table: Table, models: Mapping[str, Any], rng: np.random.Generator
) -> pl.DataFrame:
    """Return the errors on held-out rows of each model, and of the service's mean.

    Parameters
    ----------
    models : mapping
        Estimators of scikit-learn; the first column of their X is the number of the service.

    Returns
    -------
    DataFrame
        One row for each model, the best first. ``cv_rmse`` is its error, and ``cv_rmse_constant``
        that of the mean. ``saved_share`` is ``1 - cv_rmse / cv_rmse_constant``. Its lowest and
        highest value over the folds are ``saved_low`` and ``saved_high``.
    """
    if not models:
        return pl.DataFrame(schema=COMPARED)
    columns = np.column_stack([table.service, table.regressors])
    fold = folds_of(table.instance, rng)
    missed = {
        name: _missed(model, columns, table.target, fold)
        for name, model in {"": WithinService(_Nothing()), **models}.items()
    }
    constant = missed.pop("")
    many = np.bincount(fold, minlength=FOLDS)
    rows = []
    for name, errors in missed.items():
        saved = 1 - np.sqrt(errors[many > 0] / constant[many > 0])
        rmse, base = (float(np.sqrt(sums.sum() / many.sum())) for sums in (errors, constant))
        rows.append((name, rmse, base, 1 - rmse / base, float(saved.min()), float(saved.max())))
    return pl.DataFrame(rows, schema=COMPARED, orient="row").sort("cv_rmse", "model")


def _missed(model: Any, columns: Any, target: Any, fold: Any) -> Any:
    """The sum of squared errors of each fold, shape (folds,)."""
    sums = np.zeros(FOLDS)
    for held in range(FOLDS):
        test = fold == held
        if test.any() and not test.all():
            predicted = clone(model).fit(columns[~test], target[~test]).predict(columns[test])
            sums[held] = ((target[test] - predicted) ** 2).sum()
    return sums
