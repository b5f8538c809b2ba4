"""A worker process: takes tasks from its standard input, gives answers on its standard output.

It ends when its input does, whatever it is at, and so never outlives the process that started it.
Started as a program of its own rather than by ``multiprocessing``, which would run the caller's
script a second time.
"""

import contextlib
import ctypes
import gc
import os
import pickle
import queue
import sys
import threading
from typing import IO, Any


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
