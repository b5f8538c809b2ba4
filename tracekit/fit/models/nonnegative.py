"""Least squares with coefficients that may not be negative: neighbours never help."""

from typing import Any

from sklearn.linear_model import LinearRegression

from tracekit.fit.models import Model


def _build(_seed: int) -> Any:
    return LinearRegression(positive=True)


MODEL = Model(title="Least squares, no negative coefficient", build=_build)
