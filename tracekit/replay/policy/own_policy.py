"""A user's own placement policy: one file anywhere, used as ``--policy ./mine.py``.

The file is a policy as any other: one class derived from ``PlacementPolicy``, its name the file's.
It is held to the promises of ``tracekit.replay.policy.promises`` before it is used.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from tracekit.errors import TracekitError
from tracekit.opened import is_file, read_bytes
from tracekit.replay.placement import PlacementPolicy, all_policies
from tracekit.replay.policy.guard import IMPORT_LIMIT_S, OwnPolicyError, answers_for, guard, line_of
from tracekit.replay.policy.promises import check_promises, check_result

_PACKAGE = "own_policies"


def load_own_policy(path: Path) -> type[PlacementPolicy]:
    """The policy of a file as it is now, checked; read anew where the file has changed.

    Raises
    ------
    TracekitError
        When there is no such file, it does not run, holds none or several policies, bears the name
        of a built-in one, or breaks a promise.
    """
    _check_name(path)
    return _checked(path, path.resolve(), read_bytes(path))


@functools.cache
def _checked(path: Path, _place: Path, _text: bytes) -> type[PlacementPolicy]:
    """The policy of a file; place and text tell it from another of the same relative path."""
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
    kind = found[0]
    kind.file = str(path.resolve())
    guard(kind, functools.partial(check_result, kind))
    with answers_for(kind.file, "the policy", kind.limit_s):
        check_promises(kind, np.random.default_rng(0))
    return kind


def _check_name(path: Path) -> None:
    if not is_file(path):
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
    file = str(path.resolve())
    try:
        with answers_for(file, "importing it", IMPORT_LIMIT_S):
            spec.loader.exec_module(module)
    except OwnPolicyError as error:
        del sys.modules[name]
        cause = error.__cause__
        if cause is None:
            raise
        line = line_of(file, cause)
        raise TracekitError(
            f"{path}{f':{line}' if line else ''} does not run: {type(cause).__name__}: {cause}",
            hint="run it with python to see more: a policy file must import cleanly",
        ) from cause
    return module
