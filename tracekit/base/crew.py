"""Crews: tasks are done by this process, or by several processes side by side."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import IO, Any, Protocol, TypeVar

from tracekit.base.errors import TracekitError
from tracekit.base.isolation import interpreter

R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
K = TypeVar("K")
#: Called with what was done since the last call, in bytes, and with rows and rejects so far.
OnProgress = Callable[[int, int, int], None]

#: One thread each: there are as many workers as there are cores to use. What a worker frees goes
#: back to the system, so that its memory is what it needs and not what it once needed; but for 64
#: MB, as asking for the same pages again and again took a sixth of all time.
_ENVIRONMENT = {
    "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
}


def unheard(*_: int) -> None:
    """Tell nobody of progress."""


class Task(Protocol[R_co]):
    """Something to do that can be sent to another process."""

    def run(self, on_progress: OnProgress) -> R_co:
        """Do it."""


class Crew(Protocol):
    """Does tasks."""

    size: int

    def submit(self, task: Task[S], on_progress: OnProgress = unheard) -> Future[S]:
        """Do a task, now or later; what it raises comes out of the future."""

    def close(self) -> None:
        """Stop at once, whatever is under way."""


def each_done(crew: Crew, tasks: Iterable[tuple[K, Task[S]]]) -> Iterator[tuple[K, Future[S]]]:
    """Have a crew do tasks; the key and the future of each, as they come to an end."""
    running = {crew.submit(task): key for key, task in tasks}
    for future in as_completed(running):
        yield running.pop(future), future


class Alone:
    """Does each task at once, in this process."""

    size = 1

    def submit(self, task: Task[S], on_progress: OnProgress = unheard) -> Future[S]:
        """Do the task; the future is done."""
        done: Future[S] = Future()
        try:
            done.set_result(task.run(on_progress))
        except Exception as error:  # noqa: BLE001 - raised again by the future
            done.set_exception(error)
        return done

    def close(self) -> None:
        """Nothing is under way."""


class Workers:
    """Does up to ``size`` tasks at a time, each in a process of its own.

    Parameters
    ----------
    without : modules that the processes cannot import, because the tasks do not need them
    """

    def __init__(self, size: int, without: tuple[str, ...] = ()) -> None:
        self.size = size
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._without = without
        # one per core at once, while the task is prepared; more only when a task finds none idle
        self._all = [_Worker(without) for _ in range(min(size, os.cpu_count() or 1))]
        for worker in self._all:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(size)
        self._lock = threading.Lock()

    def submit(self, task: Task[S], on_progress: OnProgress = unheard) -> Future[S]:
        """Do the task as soon as a worker is free; ``on_progress`` is called by one at a time."""

        def told(size: int, rows: int, rejected: int) -> None:
            with self._lock:
                on_progress(size, rows, rejected)

        return self._threads.submit(self._do, task, told)

    def _do(self, task: Task[S], on_progress: OnProgress) -> S:
        worker = self._free()
        try:
            return worker.do(task, on_progress)
        finally:
            self._idle.put(worker)

    def _free(self) -> _Worker:
        with suppress(queue.Empty):
            return self._idle.get_nowait()
        with self._lock:
            if len(self._all) < self.size:
                self._all.append(_Worker(self._without))
                return self._all[-1]
        return self._idle.get()

    def close(self) -> None:
        """Stop the workers at once."""
        for worker in self._all:
            worker.stop()
        self._threads.shutdown(cancel_futures=True)


class _Worker:
    """One worker process and the pipes to it."""

    def __init__(self, without: tuple[str, ...]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [*interpreter("tracekit.base.crew"), *without],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ENVIRONMENT},
            # Ctrl-C is for the process that was started; it stops the others itself
            start_new_session=True,
        )

    def do(self, task: Task[S], on_progress: OnProgress) -> S:
        assert self._process.stdin is not None  # noqa: S101 - both are pipes
        assert self._process.stdout is not None  # noqa: S101
        try:
            pickle.dump(task, self._process.stdin)
            self._process.stdin.flush()
            while True:
                kind, value = pickle.load(self._process.stdout)  # noqa: S301 - our own process
                if kind == "result":
                    answer: S = value
                    return answer
                if kind == "error":
                    raise value
                on_progress(*value)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise _lost(self._process) from error

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                _close(pipe)


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except OSError:
        # bytes that never reached a worker that is gone
        return


def _lost(process: subprocess.Popen[bytes]) -> LostWorkerError:
    return LostWorkerError(
        f"a worker process ended while at work (status {process.wait()})",
        hint="it may have run out of memory: try --jobs 1; what was finished is in the store",
    )


class LostWorkerError(TracekitError):
    """A worker is gone; nothing more can be done in this run."""


# A worker process: takes tasks from its standard input, gives answers on its standard output.
#
# It ends when its input does, whatever it is at, and so never outlives the process that started
# it. Started as a program of its own rather than by ``multiprocessing``, which would run the
# caller's script a second time.


def main() -> None:
    """Answer tasks until the input ends; arguments are modules that these tasks do without."""
    for name in sys.argv[1:]:
        sys.modules[name] = None  # type: ignore[assignment]
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # what a library may print must not get between the answers
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    tasks: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, tasks), daemon=True).start()
    while True:
        _answer(tasks.get(), replies)
        _give_back()


def _receive(requests: IO[bytes], tasks: queue.Queue[Any]) -> None:
    known = 0
    with contextlib.suppress(Exception):
        while True:
            # the first task loads most of what this process will ever hold
            gc.disable()
            task = pickle.load(requests)  # noqa: S301 - from the process that started this one
            if len(sys.modules) > known:
                known = len(sys.modules)
                gc.freeze()
            gc.enable()
            tasks.put(task)
    os._exit(0)


def _answer(task: Any, replies: IO[bytes]) -> None:
    def on_progress(size: int, rows: int, rejected: int) -> None:
        _send(replies, ("progress", (size, rows, rejected)))

    try:
        result = task.run(on_progress)
    except Exception as error:  # noqa: BLE001 - raised again where the task came from
        _send(replies, ("error", error))
    else:
        _send(replies, ("result", result))


def _give_back() -> None:
    """Return to the system what a task has freed; glibc keeps what lies between things in use."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _send(replies: IO[bytes], message: tuple[str, Any]) -> None:
    pickle.dump(message, replies)
    replies.flush()
