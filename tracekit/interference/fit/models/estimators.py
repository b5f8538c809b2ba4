"""scikit-learn estimators: lines, and trees as a worked example of another model."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import HuberRegressor, LinearRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tracekit.interference.fit.models import Model


def _least_squares(_seed: int) -> Any:
    return LinearRegression()


#: The line of the patent: least squares.
least_squares = Model(title="Least squares", build=_least_squares)


def _nonnegative(_seed: int) -> Any:
    return LinearRegression(positive=True)


#: Least squares with coefficients that may not be negative: neighbours never help.
nonnegative = Model(title="Least squares, no negative coefficient", build=_nonnegative)


def _huber(_seed: int) -> Any:
    return make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000))


#: Huber's regression: rows far off the line pull less.
huber = Model(title="Huber", build=_huber)


def _ridge(_seed: int) -> Any:
    return make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-3, 3, 7)))


#: Ridge regression on regressors of unit variance, the penalty chosen by cross-validation.
ridge = Model(title="Ridge", build=_ridge)


def _gradient_boosting(seed: int) -> Any:
    # shallow trees and small steps: there are two or three regressors and much noise
    return HistGradientBoostingRegressor(
        max_iter=150, learning_rate=0.08, max_leaf_nodes=8, min_samples_leaf=20, random_state=seed
    )


#: Gradient boosting: trees that bend where a line cannot; a worked example of another model.
gradient_boosting = Model(title="Gradient boosting", build=_gradient_boosting)
