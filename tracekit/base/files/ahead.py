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
    """Pieces of bytes as a stream: each ``read`` gives the next piece, and no bytes at the end."""

    def __init__(self, pieces: Iterator[bytes | None]) -> None:
        self._pieces = pieces

    def read(self, _size: int, /) -> bytes:
        """Return the next piece, whatever its length."""
        return next(self._pieces, None) or b""


class Beside:
    """A thread that runs calls one after the other; at most one call waits."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def do(self, work: Callable[[bytes], None], data: bytes) -> None:
        """Run a call in the thread, once the call before it has ended."""
        self.finish()
        self._last = self._thread.submit(work, data)

    def finish(self) -> None:
        """Wait until all calls have ended. Raise the error of a call that failed."""
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
