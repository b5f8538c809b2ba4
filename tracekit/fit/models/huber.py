"""Huber's regression: rows far off the line pull less."""

from typing import Any

from sklearn.linear_model import HuberRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tracekit.fit.models import Model


def _build(_seed: int) -> Any:
    return make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000))


MODEL = Model(title="Huber", build=_build)
