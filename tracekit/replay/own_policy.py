"""A user's own placement policy: one file anywhere, used as ``--policy ./mine.py``.

The file is a policy as any other: one class derived from ``PlacementPolicy``, its name the file's.
It is held to the promises of ``tracekit.replay.promises`` before it is used.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from tracekit.errors import TracekitError
from tracekit.replay.placement import PlacementPolicy, all_policies
from tracekit.replay.promises import check_promises

SUFFIX = ".py"
_PACKAGE = "own_policies"


@functools.cache
def load_own_policy(path: Path) -> type[PlacementPolicy]:
    """The policy of a file, checked.

    Raises
    ------
    TracekitError
        When there is no such file, it does not run, holds none or several policies, bears the name
        of a built-in one, or breaks a promise.
    """
    _check_name(path)
    module = _imported(path)
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, PlacementPolicy)
        and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise TracekitError(
            f"{path} defines {len(found)} placement policies, expected one",
            hint="one class derived from tracekit.replay.placement.PlacementPolicy per file",
        )
    found[0].file = str(path.resolve())
    check_promises(found[0], np.random.default_rng(0))
    return found[0]


def _check_name(path: Path) -> None:
    if not path.is_file():
        raise TracekitError(
            f"no policy file {path}", hint="give the path of a Python file, for example ./mine.py"
        )
    name = path.stem
    if not name.isidentifier():
        raise TracekitError(
            f"'{name}' cannot be a policy's name",
            hint="name the file in letters, digits and '_', for example my_policy.py",
        )
    if name in all_policies():
        raise TracekitError(
            f"{path}: a policy named '{name}' is built in", hint="give your file another name"
        )


def _imported(path: Path) -> ModuleType:
    """The file as a module of its own, found again by name in this process."""
    name = f"{_PACKAGE}.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise TracekitError(f"{path} is no Python file", hint="its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise TracekitError(
            f"{path}{_line(error, path)} does not run: {type(error).__name__}: {error}",
            hint="run it with python to see more: a policy file must import cleanly",
        ) from error
    return module


def _line(error: Exception, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    trace, line = error.__traceback__, 0
    while trace:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == str(path.resolve()) else line
        trace = trace.tb_next
    return f":{line}" if line else ""
