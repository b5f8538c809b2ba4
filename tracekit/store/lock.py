"""One writer at a time: the second is told who holds the store."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit.store.folder import LOCK


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold the store for writing; the lock ends with the process, however it ends.

    Raises TracekitError, naming the holder, when another process writes to the store.
    """
    path = folder / LOCK
    with path.open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            raise TracekitError(
                f"{folder} is being written by {handle.read().strip() or 'another process'}",
                hint="wait for it to finish, or stop it; then run the same command again",
            ) from None
        handle.truncate(0)
        handle.write(f"process {os.getpid()} on {socket.gethostname()}")
        handle.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
