"""A user's policy at work: whatever its code does, it ends in one line that names file and line.

A policy is a user's program. It may leave the process, raise anything, never return, change what
it was handed, or give back what is no score, and that at any decision. Each call of one goes
through here, in whichever process it is made. What no program can stop from within itself is left:
a signal that ends the process, and compiled code that never returns.
"""

import dataclasses
import functools
import inspect
import linecache
import os
import posix
import re
import signal
import sys
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

#: What importing a policy file may take; it may load heavy libraries.
IMPORT_LIMIT_S = 60.0
#: A policy that catches everything is told again and again.
_AGAIN_S = 0.5

#: What ends this process, or makes two of it, without Python's knowing.
_LEAVING = ("_exit", "abort", "execv", "execve", "fork", "forkpty")

Check = Callable[[str, Any, tuple[Any, ...]], None]


class OwnPolicyError(TracekitError):
    """A user's policy did what no policy may do."""


class _TooLongError(BaseException):
    """Raised in code that does not return; no ``except Exception`` of it holds that up."""


def guard(kind: type[PlacementPolicy], check: Check) -> None:
    """Send every call of what the class defines of a policy's methods through the guard.

    A score by a formula is the class's own code too.

    Parameters
    ----------
    check : callable
        Raises for a result that breaks a promise: called with the method's name, what it gave and
        what it was given.
    """
    asked = {name for one in kind.__mro__[1:-1] for name in vars(one)} | {"select"}
    for name, value in list(vars(kind).items()):
        if isinstance(value, types.FunctionType) and name in asked and not name.startswith("_"):
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
            found = method(self, *args, **kwargs)
        _unchanged(kind, name, before)
        check(name, found, args)
        return found

    return called


def place_of(kind: type[PlacementPolicy], method: str = "") -> str:
    """File and line of a method of a user's policy; the file alone where the line is not known."""
    for name in (method, "score_formula"):  # a score by a formula is written there
        found = inspect.unwrap(getattr(kind, name)) if name else None
        code = getattr(found, "__code__", None)
        if code is not None and code.co_filename == str(kind.file):
            return f"{kind.file}:{code.co_firstlineno}"
    return str(kind.file)


@contextmanager
def answers_for(file: str, what: str, limit_s: float) -> Iterator[None]:
    """Whatever the code of a file raises within is told as the file's, with the line.

    Ctrl-C and the signals that end a process pass through.

    Raises
    ------
    OwnPolicyError
        When the code raises, leaves, or takes longer than ``limit_s``.
    """
    try:
        with _time_limit(limit_s), _process_is_ours():
            yield
    except TracekitError:
        raise
    except _TooLongError as error:
        raise OwnPolicyError(
            f"{_where(file, error)}: {what} took longer than {limit_s:g} s, it was stopped",
            hint="a policy answers at once; 'limit_s: ClassVar = 60.0' in the class allows more",
        ) from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not _raised_by(file, error):
            raise
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
    """The line of the file that was at work last when the error was raised; 0 if none was."""
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


def _raised_by(file: str, error: BaseException) -> bool:
    """Whether a ``raise`` of the file made it, rather than somebody at the keyboard."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename != file:
        return False
    return re.search(r"\braise\b", linecache.getline(file, trace.tb_lineno)) is not None


@contextmanager
def _process_is_ours() -> Iterator[None]:
    """Within, what ends the process without a word raises, and what makes two of it.

    A standard stream that was closed or replaced is there again afterwards, and told.
    """
    real = {(place, name): getattr(place, name) for place in (os, posix) for name in _LEAVING}
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    for place, name in real:
        setattr(place, name, _INSTEAD[name])
    try:
        yield
        lost = [name for name, stream in streams.items() if _is_lost(name, stream)]
        if lost:
            raise SystemExit(f"sys.{lost[0]} was closed or replaced")
    finally:
        for (place, name), value in real.items():
            setattr(place, name, value)
        for number, (name, stream) in enumerate(streams.items(), 1):
            if _is_lost(name, stream):
                setattr(sys, name, _opened_again(number) if stream.closed else stream)


def _leave(name: str, *_given: object) -> NoReturn:
    raise SystemExit(f"os.{name}()")


_INSTEAD = {name: functools.partial(_leave, name) for name in _LEAVING}


def _is_lost(name: str, stream: Any) -> bool:
    return stream is not None and (getattr(sys, name) is not stream or stream.closed)


def _opened_again(number: int) -> Any:
    """A standard stream whose file is there still, as Python leaves it open."""
    try:
        return os.fdopen(number, "w", errors="backslashreplace", closefd=False)
    except OSError:
        return None


@contextmanager
def _time_limit(limit_s: float) -> Iterator[None]:
    """Raise where the code is when the time is up; only a main thread can be interrupted so."""
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
    """Every array that is handed over: whose it is, its name, itself and a copy."""
    found: list[tuple[Any, str, NDArray[Any], NDArray[Any]]] = []
    for one in given:
        if isinstance(one, np.ndarray):
            found.append((None, "nodes", one, one.copy()))
        elif dataclasses.is_dataclass(one) and not isinstance(one, type):
            for field in dataclasses.fields(one):
                value = getattr(one, field.name, None)
                if isinstance(value, np.ndarray):
                    found.append((one, field.name, value, value.copy()))
    return found


def _unchanged(
    kind: type[PlacementPolicy],
    method: str,
    before: list[tuple[Any, str, NDArray[Any], NDArray[Any]]],
) -> None:
    for owner, name, array, copy in before:
        kept = owner is None or getattr(owner, name) is array
        if not kept or array.shape != copy.shape or array.tobytes() != copy.tobytes():
            whose = "" if owner is None else f"{type(owner).__name__.lower()}."
            raise OwnPolicyError(
                f"{place_of(kind, method)}: {method} changed {whose}{name},"
                " which it was handed to look at",
                hint="what a policy is handed is not to be changed: compute new arrays from it",
            )
