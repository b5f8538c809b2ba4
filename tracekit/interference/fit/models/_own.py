"""A user's own model: a Python file with a ``MODEL``."""

import importlib.util
from pathlib import Path
from typing import TypeVar

from tracekit.base.errors import TracekitError
from tracekit.base.opened import is_file

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
