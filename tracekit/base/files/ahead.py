"""Reads ahead: the next blocks are decompressed while the last one is parsed."""

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_DEPTH = 2


def ahead(source: Iterator[T], depth: int = _DEPTH) -> Generator[T, None, None]:
    """The items of ``source`` in order, made in a thread of its own, ``depth`` of them in advance.

    Decompression and hashing release the interpreter's lock, so this is real work side by side.
    What ``source`` raises is raised here; leaving early stops the thread.
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
    """Bytes made elsewhere, as a stream: each ``read`` gives the next piece, none at the end."""

    def __init__(self, pieces: Iterator[bytes | None]) -> None:
        self._pieces = pieces

    def read(self, _size: int, /) -> bytes:
        """The next piece, however long it is."""
        return next(self._pieces, None) or b""


class Beside:
    """Does one thing after another in a thread of its own, one of them waiting at most."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def do(self, work: Callable[[bytes], None], data: bytes) -> None:
        """Have something done, as soon as what came before is."""
        self.finish()
        self._last = self._thread.submit(work, data)

    def finish(self) -> None:
        """Wait until all is done; raises what was raised."""
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
    """Make room, so that a thread waiting to put its item can see that it is to stop."""
    while True:
        try:
            items.get_nowait()
        except queue.Empty:
            return
