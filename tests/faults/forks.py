"""Command lines in forks of one process that has everything imported already."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_HERE = Path(__file__).parent

#: What only a process says that met what its authors had not thought of.
_UNFORESEEN = ("Traceback (most recent call last)", "this is a bug", "panicked at", "core dumped")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Which call on a file below the working folder fails.

    Parameters
    ----------
    at : the first, second, ... call of its kind; 0 for none
    error : an errno; 0 kills the process at the call, -1 is the usual errno of such a call
    reading : whether opens for reading are counted, or all calls that change something
    allocation : the first, second, ... allocation fails, of at least ``least_bytes``; 0 for none
    """

    at: int = 0
    error: int = -1
    reading: bool = False
    allocation: int = 0
    least_bytes: int = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a command line did: ``code`` is None when it ran out of time, negative for a signal."""

    arguments: tuple[str, ...]
    code: int | None
    out: str
    err: str
    calls: int
    allocations: int
    what: str
    seconds: float
    sites: list[str]

    @property
    def complaint(self) -> str | None:
        """What no command line may do, whatever it was given; None when it did none of it."""
        if self.code is None:
            return f"out of time after {self.seconds:.0f} s"
        if self.code < 0:
            return f"ended by signal {-self.code}: {self.err[-300:]}"
        for sign in _UNFORESEEN:
            if sign in self.err or sign in self.out:
                return f"'{sign}': {self.err[-600:]}"
        if self.code not in (0, 1, 2, 130):
            return f"exit code {self.code}: {self.err[-300:]}"
        lines = self.err.split("\n")
        if self.code == 2 and not any(line.lower().startswith("error: ") for line in lines):
            return f"exit code 2 without an error line: {self.err[-300:]}"
        return None


@functools.cache
def failing_calls() -> Path | None:
    """The library that lets calls fail, compiled; None without a C compiler or Linux."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    folder = Path(tempfile.mkdtemp(prefix="failing-calls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / "failing_calls.so"
    source = _HERE / "failing_calls.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"], check=True
    )
    return library


@functools.cache
def shared(*, faults: bool = False) -> Forks:
    """One for all tests of this process: it takes seconds to import everything."""
    folder = Path(tempfile.mkdtemp(prefix="forks-"))
    forks = Forks(folder, faults=faults)

    def close() -> None:
        forks.close()
        shutil.rmtree(folder)

    atexit.register(close)
    return forks


class Forks:
    """Runs command lines; close it, or use it in a ``with``.

    Parameters
    ----------
    folder : where what commands print is put, outside their working folders
    faults : whether calls can be made to fail
    """

    def __init__(self, folder: Path, *, faults: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        environment = {**os.environ, "COLUMNS": "80", "POLARS_MAX_THREADS": "1"}
        if faults:
            library = failing_calls()
            assert library is not None
            memory = folder / "memory"
            memory.unlink(missing_ok=True)
            environment |= {"LD_PRELOAD": str(library), "FAULT_MEMORY": str(memory.resolve())}
        self._process = subprocess.Popen(
            [sys.executable, str(_HERE / "forked_commands.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=120)
        self._process.stdout.close()

    def run(
        self,
        *arguments: object,
        folder: Path,
        fault: Fault | None = None,
        seconds: float = 60,
        memory_bytes: int = 0,
        sites: bool = False,
        record: Path | None = None,
    ) -> Done:
        """Run a command line in a folder; with ``sites``, note where its calls come from.

        ``record`` is a file that gets every call that changes something, with the bytes of writes.
        """
        words = [str(word) for word in arguments]
        request: dict[str, Any] = {
            "arguments": words,
            "folder": str(folder),
            "root": str(folder),
            "seconds": seconds,
            "memory_bytes": memory_bytes,
            "sites": sites,
            "record": "" if record is None else str(record),
            "stdout": str(self._folder / "stdout"),
            "stderr": str(self._folder / "stderr"),
        }
        if fault is not None:
            request["fault"] = vars(fault)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        out, err = (
            (self._folder / name).read_text(errors="backslashreplace")
            for name in ("stdout", "stderr")
        )
        return Done(arguments=tuple(words), out=out, err=err, **answer)
