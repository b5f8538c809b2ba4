"""Models side by side on the same held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, RegressorMixin, clone

from tracekit.fit.models import get_model
from tracekit.fit.table import Table
from tracekit.fit.validation import COMPARED, FOLDS, folds_of
from tracekit.fit.within import WithinService

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
    table: Table, models: Mapping[str, Any], rng: np.random.Generator, *, folds: int = FOLDS
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
    fold = folds_of(table.instance, folds, rng)
    missed = {
        name: _missed(model, columns, table.target, fold, folds)
        for name, model in {"": WithinService(_Nothing()), **models}.items()
    }
    constant = missed.pop("")
    many = np.bincount(fold, minlength=folds)
    rows = []
    for name, found in missed.items():
        saved = 1 - np.sqrt(found[many > 0] / constant[many > 0])
        rmse, base = (float(np.sqrt(sums.sum() / many.sum())) for sums in (found, constant))
        rows.append((name, rmse, base, 1 - rmse / base, float(saved.min()), float(saved.max())))
    return pl.DataFrame(rows, schema=COMPARED, orient="row").sort("cv_rmse", "model")


def _missed(model: Any, columns: Any, target: Any, fold: Any, folds: int) -> Any:
    """Sums of squared errors, shape (folds,)."""
    sums = np.zeros(folds)
    for held in range(folds):
        test = fold == held
        if test.any() and not test.all():
            found = clone(model).fit(columns[~test], target[~test]).predict(columns[test])
            sums[held] = ((target[test] - found) ** 2).sum()
    return sums
