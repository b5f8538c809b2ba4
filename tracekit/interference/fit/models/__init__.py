"""Models that can stand in place of the line: scikit-learn estimators.

A model sees deviations from the service's means, so that any regressor of scikit-learn fits:
``NAME = Model(title=..., build=lambda seed: make_pipeline(...))``; ``MODEL`` in a user's own file.
"""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.base import registry
from tracekit.interference.fit.models._own import load_own_model


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model; its name is that of the object.

    Parameters
    ----------
    build : callable
        A seed to an unfitted scikit-learn regressor or pipeline; equal seeds, equal fits.
    """

    title: str
    build: Callable[[int], Any]


@functools.cache
def all_models() -> dict[str, Model]:
    """Every model, by name."""
    return registry.named(sys.modules[__name__], Model)


def get_model(name: str) -> Model:
    """The model of that name, or of a user's own file ``PATH.py``.

    Raises TracekitError for an unknown name, or a file without a ``MODEL``.
    """
    if name.endswith(".py"):
        return load_own_model(Path(name), Model)
    return registry.pick(all_models(), name, "model", listing="tracekit list models")
