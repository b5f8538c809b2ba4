"""Guards calls of a user's own policy: an error of its code becomes one line with file and line.

The code may raise anything, never return, change its arguments, or return a value that is no score.
Each call of a method of the policy goes through this module, in every process.
"""

import dataclasses
import functools
import inspect
import os
import posix
import signal
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tracekit.base.errors import TracekitError
from tracekit.policy.placement import PlacementPolicy

#: The longest import of a policy file, which may load heavy libraries.
IMPORT_LIMIT_S = 60.0
#: The time between two signals to a policy whose code catches every exception.
_AGAIN_S = 0.5
#: Functions that end or copy this process without an exception.
_LEAVING = ("_exit", "abort", "execv", "execve", "fork", "forkpty")

Check = Callable[[str, Any, tuple[Any, ...]], None]


class OwnPolicyError(TracekitError):
    """The code of a user's policy raised an error, did not return, or changed its arguments."""


class _TooLongError(BaseException):
    """Raised in code that does not return; an ``except Exception`` there does not catch it."""


def guard(kind: type[PlacementPolicy], check: Check) -> None:
    """Wrap the methods that a user's policy class defines, so that each call is checked.

    A call raises OwnPolicyError if the code fails, takes longer than ``limit_s``, or changes an
    array among its arguments. A score by ``score_formula`` is wrapped, too.

    Parameters
    ----------
    check : callable
        Gets the name of the method, its result and its arguments; raises for a wrong result.
    """
    names = {name for one in kind.__mro__[1:-1] for name in vars(one)} | {"select"}
    for name, value in list(vars(kind).items()):
        if isinstance(value, types.FunctionType) and name in names and not name.startswith("_"):
            setattr(kind, name, _guarded(kind, name, value, check))
    if "score" not in vars(kind) and "score_formula" in vars(kind):
        kind.score = _guarded(kind, "score", kind.score, check)  # type: ignore[method-assign]


def _guarded(
    kind: type[PlacementPolicy], name: str, method: Callable[..., Any], check: Check
) -> Callable[..., Any]:
    file = str(kind.file)

    @functools.wraps(method)
    def called(self: PlacementPolicy, *args: Any, **kwargs: Any) -> Any:
        before = _arrays([*args, *kwargs.values()])
        with answers_for(file, name, kind.limit_s):
            result = method(self, *args, **kwargs)
        _unchanged(kind, name, before)
        check(name, result, args)
        return result

    return called


def place_of(kind: type[PlacementPolicy], method: str = "") -> str:
    """Return ``FILE:LINE`` of a method of a user's policy, or ``FILE`` if the line is unknown."""
    for name in (method, "score_formula"):  # a score by a formula is written there
        code = getattr(inspect.unwrap(getattr(kind, name)), "__code__", None) if name else None
        if code is not None and code.co_filename == str(kind.file):
            return f"{kind.file}:{code.co_firstlineno}"
    return str(kind.file)


@contextmanager
def answers_for(file: str, what: str, limit_s: float) -> Iterator[None]:
    """Run a block of a user's code; its errors become one line with the file and the line.

    A ``TracekitError`` and a ``KeyboardInterrupt`` pass through. ``what`` names the block in
    errors.

    Raises
    ------
    OwnPolicyError
        When the code raises, ends or copies the process, or takes longer than ``limit_s``.
    """
    try:
        with _time_limit(limit_s), _leaving_raises():
            yield
    except (TracekitError, KeyboardInterrupt):
        raise
    except _TooLongError as error:
        raise OwnPolicyError(
            f"{_where(file, error)}: {what} took longer than {limit_s:g} s, it was stopped",
            hint="a policy answers at once; 'limit_s: ClassVar = 60.0' in the class allows more",
        ) from None
    except BaseException as error:
        text = f"{type(error).__name__}: {error}".removesuffix(": ")
        line = line_of(file, error)
        raise OwnPolicyError(
            f"{_where(file, error)}: {what} failed{f' at line {line}' if line else ''}: {text}",
            hint=_hint(error),
        ) from error


def _hint(error: BaseException) -> str:
    if not isinstance(error, Exception):
        return "a policy answers or raises an Exception; it does not end the program or copy it"
    if "read-only" in str(error):
        return "a snapshot is not to be changed: compute new arrays from it"
    if isinstance(error, IndexError | TypeError | ValueError):
        return "snapshot arrays have shape (nodes, resources): index them with 'nodes' first"
    return "it is the file's own code that failed; what it imports and changes is its own affair"


def line_of(file: str, error: BaseException) -> int:
    """Return the last line of the file in the error's traceback; 0 if the file is not in it."""
    if isinstance(error, SyntaxError) and error.lineno and error.filename == file:
        return error.lineno
    trace, line = error.__traceback__, 0
    while trace:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == file else line
        trace = trace.tb_next
    return line


def _where(file: str, error: BaseException) -> str:
    line = line_of(file, error)
    return f"{file}:{line}" if line else file


@contextmanager
def _leaving_raises() -> Iterator[None]:
    """Make functions that end or copy the process raise SystemExit."""
    real = {(module, name): getattr(module, name) for module in (os, posix) for name in _LEAVING}
    for module, name in real:
        setattr(module, name, _INSTEAD[name])
    try:
        yield
    finally:
        for (module, name), function in real.items():
            setattr(module, name, function)


def _leave(name: str, *_arguments: object) -> NoReturn:
    raise SystemExit(f"os.{name}()")


_INSTEAD = {name: functools.partial(_leave, name) for name in _LEAVING}


@contextmanager
def _time_limit(limit_s: float) -> Iterator[None]:
    """Raise in the running code when the time is over; only the main thread can be interrupted."""
    inside = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    if inside or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _time_is_up)
    signal.setitimer(signal.ITIMER_REAL, limit_s, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _time_is_up(_number: int, _frame: FrameType | None) -> None:
    raise _TooLongError


def _arrays(given: list[Any]) -> list[tuple[Any, str, NDArray[Any], NDArray[Any]]]:
    """Owner, name, array and a copy of each array among the arguments."""
    arrays: list[tuple[Any, str, NDArray[Any], NDArray[Any]]] = []
    for one in given:
        if isinstance(one, np.ndarray):
            arrays.append((None, "nodes", one, one.copy()))
        elif dataclasses.is_dataclass(one) and not isinstance(one, type):
            for field in dataclasses.fields(one):
                value = getattr(one, field.name, None)
                if isinstance(value, np.ndarray):
                    arrays.append((one, field.name, value, value.copy()))
    return arrays


def _unchanged(
    kind: type[PlacementPolicy],
    method: str,
    before: list[tuple[Any, str, NDArray[Any], NDArray[Any]]],
) -> None:
    for owner, name, array, copy in before:
        same = owner is None or getattr(owner, name) is array
        if not same or array.shape != copy.shape or array.tobytes() != copy.tobytes():
            prefix = "" if owner is None else f"{type(owner).__name__.lower()}."
            raise OwnPolicyError(
                f"{place_of(kind, method)}: {method} changed {prefix}{name},"
                " which it was handed to look at",
                hint="what a policy is handed is not to be changed: compute new arrays from it",
            )
