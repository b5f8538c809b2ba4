"""Gradient boosting: trees that bend where a line cannot; a worked example of another model."""

from typing import Any

from sklearn.ensemble import HistGradientBoostingRegressor

from tracekit.fit.models import Model


def _build(seed: int) -> Any:
    # shallow trees and small steps: there are two or three regressors and much noise
    return HistGradientBoostingRegressor(
        max_iter=150, learning_rate=0.08, max_leaf_nodes=8, min_samples_leaf=20, random_state=seed
    )


MODEL = Model(title="Gradient boosting", build=_build)
