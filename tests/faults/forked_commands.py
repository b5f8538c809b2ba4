"""A process that has everything imported and runs each command line in a fork of itself.

Starting tracekit costs a second or more; a fork costs milliseconds. So thousands of command lines
can be tried, each in a process of its own, that may be killed or run out of time.

Program: one request a line on standard input, one answer a line on standard output, both JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import pkgutil
import re
import resource
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, cast

#: Lines of tracekit that tell one place from another: a helper and who calls it.
_LINES = 3
#: What C calls must not be freed.
_KEPT: list[Any] = []
#: What differs between two files of a kind: numbers, and names drawn by lot.
_DRAWN = re.compile(r"tracekit-\w+|[0-9a-f]{8,}|\d+")
#: Modules that do something when imported, or need what is not installed.
_LEFT_OUT = ("__main__", "worker", "ddqn", "torch")


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    calls = _failing_calls()
    _import_everything()
    for line in sys.stdin:
        answer = _answer(json.loads(line), calls)
        print(json.dumps(answer), file=answers, flush=True)


def _failing_calls() -> ctypes.CDLL | None:
    """The library of ``failing_calls.c``, where it was preloaded."""
    if "LD_PRELOAD" not in os.environ:
        return None
    calls = ctypes.CDLL(None)
    calls.fault_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    calls.fault_count.restype = ctypes.c_long
    calls.fault_allocations.restype = ctypes.c_long
    calls.fault_record.argtypes = [ctypes.c_char_p]
    calls.fault_allocate.argtypes = [ctypes.c_long, ctypes.c_size_t]
    calls.fault_what.restype = ctypes.c_char_p
    calls.fault_site.argtypes = [ctypes.c_long]
    calls.fault_site.restype = ctypes.POINTER(_Site)
    calls.fault_set_place.argtypes = [ctypes.c_long, ctypes.c_char_p]

    def tell_place(now: int) -> None:
        calls.fault_set_place(now, _place().encode())

    result = ctypes.CFUNCTYPE(None, ctypes.c_long)(tell_place)
    calls.fault_tell_place(result)
    _KEPT.append(result)
    return calls


class _Site(ctypes.Structure):
    """Where a call came from, as ``failing_calls.c`` lays it out."""

    _fields_ = (
        ("call", ctypes.c_char * 16),
        ("path", ctypes.c_char * 232),
        ("library", ctypes.c_char * 64),
        ("place", ctypes.c_char * 200),
    )

    def __str__(self) -> str:
        """The place in Python; in a thread of a library's own, the kind of file that it is at."""
        library, place, path = (
            value.decode(errors="replace") for value in (self.library, self.place, self.path)
        )
        return f"{self.call.decode()} {library} {place or _DRAWN.sub('#', path)}"


def _place() -> str:
    """The innermost lines of tracekit that are at work, the caller of a helper too."""
    frame: FrameType | None = sys._getframe(2)
    results: list[str] = []
    while frame is not None and len(results) < _LINES:
        file = frame.f_code.co_filename
        if f"{os.sep}tracekit{os.sep}" in file:
            results.append(f"{Path(file).stem}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(results)


def _import_everything() -> None:
    import tracekit

    for module in pkgutil.walk_packages(tracekit.__path__, "tracekit."):
        if not any(word in module.name for word in _LEFT_OUT):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    _draw()


def _draw() -> None:
    """A figure and the libraries of a page: plotly imports what it draws with when it draws."""
    import itables  # noqa: F401
    import plotly.graph_objects as go
    from plotly.offline import get_plotlyjs

    get_plotlyjs()
    axis = {"title": {"text": "a", "font": {"size": 9}}}
    layout = {"annotations": [{"text": "a"}], "shapes": [{"type": "line"}], "xaxis": axis}
    go.Figure([go.Scatter(y=[1]), go.Bar(y=[1])], {**layout, "yaxis": axis}).to_plotly_json()


def _answer(request: dict[str, Any], calls: ctypes.CDLL | None) -> dict[str, Any]:
    started = time.monotonic()
    if calls is not None:
        calls.fault_disarm()  # one that was not reached would meet the next command line
    child = os.fork()
    if child == 0:
        _run(request, calls)
    code = _wait(child, request["seconds"])
    return {
        "code": code,
        "calls": calls.fault_count() if calls else 0,
        "allocations": calls.fault_allocations() if calls else 0,
        "sites": _sites(calls) if calls and request.get("sites") else [],
        "what": calls.fault_what().decode(errors="replace") if calls else "",
        "seconds": time.monotonic() - started,
    }


def _sites(calls: ctypes.CDLL) -> list[str]:
    sites = (calls.fault_site(at) for at in range(1, calls.fault_count() + 1))
    return [str(site.contents) if site else "?" for site in sites]


def _run(request: dict[str, Any], calls: ctypes.CDLL | None) -> None:
    """Run a command line and end this process."""
    code = 98
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(request["folder"])
        for number, name in ((1, "stdout"), (2, "stderr")):
            file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(file, number)
        if request.get("memory_bytes"):
            resource.setrlimit(resource.RLIMIT_AS, (request["memory_bytes"],) * 2)
        from tracekit.commands.shell import run

        if calls is not None and request.get("fault"):
            fault = request["fault"]
            root = str(Path(request["root"]).resolve()).encode()
            if request.get("record"):
                calls.fault_record(request["record"].encode())
            if fault["allocation"]:
                calls.fault_allocate(fault["allocation"], fault["least_bytes"])
            calls.fault_arm(root, fault["at"], fault["error"], int(fault["reading"]))
        code = run(cast("list[str]", request["arguments"]))
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 97
    finally:
        os._exit(code)


def _wait(child: int, seconds: float) -> int | None:
    """The exit code, the negative number of the signal, or None for out of time."""
    end = time.monotonic() + seconds
    pause = 0.001
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _end_group(child)
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    _end_group(child)
    os.waitpid(child, 0)
    return None


def _end_group(child: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
