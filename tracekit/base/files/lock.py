"""One process at a time in a folder: the second gets an error that names the first."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import make_folder

#: The lock file of a folder that has one writer at a time; a process that was killed leaves it.
LOCK = ".lock"


@contextmanager
def held(path: Path, *, busy: str) -> Iterator[None]:
    """Hold the lock file ``path``, its folder made if it is not there.

    The lock ends with the process, however that ends. Whoever is refused changes nothing.

    Parameters
    ----------
    busy : what is said of the folder to a second one: '... is being written'

    Raises
    ------
    TracekitError
        When another process holds the lock; names it.
    """
    with _locked(path, busy) as handle:
        handle.truncate(0)
        handle.write(f"process {os.getpid()} on {socket.gethostname()}")
        handle.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _locked(path: Path, busy: str) -> IO[str]:
    """The lock file, opened and locked."""
    while True:
        make_folder(path.parent)
        try:
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)
            handle = os.fdopen(number, "a+", encoding="utf-8")
        except FileNotFoundError:
            # the holder took its empty folder away in between
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            holder = handle.read().strip() or "another process"
            handle.close()
            raise TracekitError(
                f"{busy} by {holder}",
                hint="wait for it to finish, or stop it; then run the same command again",
            ) from None
        except BaseException:
            handle.close()
            raise
        if _is_still(path, handle):
            return handle
        # the holder removed the file between our opening and locking it: others would not see us
        handle.close()


def _is_still(path: Path, handle: IO[str]) -> bool:
    """Whether the opened file is the one that stands at the path."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(handle.fileno()))
