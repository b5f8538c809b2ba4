"""Models that can stand in place of the line: scikit-learn estimators.

A model sees deviations from the service's means, so that any regressor of scikit-learn fits:
``NAME = Model(title=..., build=lambda seed: make_pipeline(...))``; ``MODEL`` in a user's own file.
"""

import functools
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tracekit.base import registry
from tracekit.base.errors import TracekitError
from tracekit.base.opened import is_file


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


# A user's own model: a Python file with a ``MODEL``.

T = TypeVar("T")


def load_own_model(path: Path, kind: type[T]) -> T:
    """The model of a file; raises TracekitError when it is not there, fails, or holds none."""
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
        # a file that leaves, or raises what ends programs, would end this one without a word
        raise TracekitError(f"{path} failed: {type(error).__name__}: {error}", hint=hint) from error
    found = getattr(module, "MODEL", None)
    if not isinstance(found, kind):
        raise TracekitError(f"{path} defines no MODEL", hint=hint)
    return found
