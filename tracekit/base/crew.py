"""Crews: they run tasks in this process, or in several worker processes."""

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
#: Called with the bytes done since the last call, and with the rows and the rejects so far.
OnProgress = Callable[[int, int, int], None]

#: The environment of workers. Each uses one thread, because there is a worker for each core. Memory
#: that a worker frees goes back to the system; it keeps 64 MB, because requesting the same pages
#: again took a sixth of the time.
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
    """Ignore a report of progress."""


class Task(Protocol[R_co]):
    """A picklable piece of work, which a crew may run in another process."""

    def run(self, on_progress: OnProgress) -> R_co:
        """Do the work, report progress by calls of ``on_progress``, and return the result."""


class Crew(Protocol):
    """A runner of tasks. ``size`` is the number of tasks that run at the same time."""

    size: int

    def submit(self, task: Task[S], on_progress: OnProgress = unheard) -> Future[S]:
        """Run a task now or later, and return the future of its result or error."""

    def close(self) -> None:
        """Stop at once, also in the middle of tasks."""


def each_done(crew: Crew, tasks: Iterable[tuple[K, Task[S]]]) -> Iterator[tuple[K, Future[S]]]:
    """Submit all tasks to a crew. Yield the key and the future of each task as soon as it ends."""
    running = {crew.submit(task): key for key, task in tasks}
    for future in as_completed(running):
        yield running.pop(future), future


class Alone:
    """A crew that runs each task at once, in this process."""

    size = 1

    def submit(self, task: Task[S], on_progress: OnProgress = unheard) -> Future[S]:
        """Run the task at once, and return a future that is done."""
        done: Future[S] = Future()
        try:
            done.set_result(task.run(on_progress))
        except Exception as error:  # noqa: BLE001 - raised again by the future
            done.set_exception(error)
        return done

    def close(self) -> None:
        """Do nothing, because no task is running."""


class Workers:
    """A crew that runs up to ``size`` tasks at the same time, each in a worker process.

    Parameters
    ----------
    without : tuple of str
        Modules whose import fails in the workers.
    """

    def __init__(self, size: int, without: tuple[str, ...] = ()) -> None:
        self.size = size
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._without = without
        # a worker for each core starts now; more start when a task finds no idle worker
        self._all = [_Worker(without) for _ in range(min(size, os.cpu_count() or 1))]
        for worker in self._all:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(size)
        self._lock = threading.Lock()

    def submit(self, task: Task[S], on_progress: OnProgress = unheard) -> Future[S]:
        """Run the task as soon as a worker is idle. Calls of ``on_progress`` never overlap."""

        def one_at_a_time(size: int, rows: int, rejected: int) -> None:
            with self._lock:
                on_progress(size, rows, rejected)

        return self._threads.submit(self._do, task, one_at_a_time)

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
            # Ctrl-C reaches only the main process, which stops the workers
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
        # the worker ended before it read all bytes
        return


def _lost(process: subprocess.Popen[bytes]) -> LostWorkerError:
    return LostWorkerError(
        f"a worker process ended while at work (status {process.wait()})",
        hint="it may have run out of memory: try --jobs 1; what was finished is in the store",
    )


class LostWorkerError(TracekitError):
    """The error for a worker process that ended during a task. The run cannot continue."""


# A worker process reads tasks from its standard input and writes results to its standard output.
# It ends when its input ends, so it never outlives the main process. It is a program of its own,
# because ``multiprocessing`` would run the caller's script a second time.


def main() -> None:
    """Run a worker process: read tasks from standard input, and write results to standard output.

    Each argument of the program names a module whose import must fail.
    """
    for name in sys.argv[1:]:
        sys.modules[name] = None  # type: ignore[assignment]
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # output of libraries must not mix with the results
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    tasks: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, tasks), daemon=True).start()
    while True:
        _answer(tasks.get(), replies)
        _give_back()


def _receive(requests: IO[bytes], tasks: queue.Queue[Any]) -> None:
    module_count = 0
    with contextlib.suppress(Exception):
        while True:
            # the first task imports most modules, which the collector need not visit again
            gc.disable()
            task = pickle.load(requests)  # noqa: S301 - from the main process
            if len(sys.modules) > module_count:
                module_count = len(sys.modules)
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
    """Return the memory that a task has freed to the system; glibc would keep it."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _send(replies: IO[bytes], message: tuple[str, Any]) -> None:
    pickle.dump(message, replies)
    replies.flush()
