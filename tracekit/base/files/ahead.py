"""Reading ahead: the next blocks are decompressed while the last one is parsed."""

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_DEPTH = 2


def ahead(source: Iterator[T], depth: int = _DEPTH) -> Generator[T, None, None]:
    """Yield the items of ``source`` in order. A thread makes up to ``depth`` of them in advance.

    Decompression and hashing release the interpreter's lock, so the threads work in parallel. An
    error of ``source`` is raised in the caller. The thread stops if the caller stops early.
    """
    items: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(depth)
    stopped = threading.Event()
    thread = threading.Thread(target=_fill, args=(source, items, stopped), daemon=True)
    thread.start()
    try:
        while (item := items.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item[0]
    finally:
        stopped.set()
        _drain(items)
        thread.join()


class Pieces:
    """A readable stream of pieces of bytes. ``read`` returns the next piece, or b"" at the end."""

    def __init__(self, pieces: Iterator[bytes | None]) -> None:
        self._pieces = pieces

    def read(self, _size: int, /) -> bytes:
        """Return the next piece, whatever its length."""
        return next(self._pieces, None) or b""


class BackgroundCalls:
    """A background thread that runs one call at a time."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def do(self, work: Callable[[bytes], None], data: bytes) -> None:
        """Wait for the previous call, then start ``work(data)`` in the thread.

        Raises the error of the previous call, if it failed.
        """
        self.finish()
        self._last = self._thread.submit(work, data)

    def finish(self) -> None:
        """Wait until the last call has ended, and raise its error if it failed."""
        if self._last is not None:
            self._last.result()


def _fill(
    source: Iterator[T],
    items: queue.Queue[tuple[T] | BaseException | None],
    stopped: threading.Event,
) -> None:
    try:
        for item in source:
            if stopped.is_set():
                return
            items.put((item,))
    except BaseException as error:  # noqa: BLE001 - handed to the reader, which raises it
        items.put(error)
        return
    items.put(None)


def _drain(items: queue.Queue[tuple[T] | BaseException | None]) -> None:
    """Empty the queue, so that a thread that waits to put an item can stop."""
    while True:
        try:
            items.get_nowait()
        except queue.Empty:
            return
