"""The line of the patent: least squares."""

from typing import Any

from sklearn.linear_model import LinearRegression

from tracekit.fit.models import Model


def _build(_seed: int) -> Any:
    return LinearRegression()


MODEL = Model(title="Least squares", build=_build)
