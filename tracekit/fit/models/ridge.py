"""Ridge regression on regressors of unit variance, the penalty chosen by cross-validation."""

from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tracekit.fit.models import Model


def _build(_seed: int) -> Any:
    return make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-3, 3, 7)))


MODEL = Model(title="Ridge", build=_build)
