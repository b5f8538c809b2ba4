"""Reads ahead: the next blocks are decompressed while the last one is parsed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

T = TypeVar("T")

_DEPTH = 2


def ahead(source: Iterator[T]) -> Generator[T, None, None]:
    """The items of ``source`` in order, made in a thread of its own, at most two in advance.

    Decompression and hashing release the interpreter's lock, so this is real work side by side.
    What ``source`` raises is raised here; leaving early stops the thread.
    """
    items: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(_DEPTH)
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
