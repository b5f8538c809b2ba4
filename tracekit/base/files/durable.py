"""Syncs: results that a command reports are on the disk, and survive a loss of power.

A folder has one writer at a time: a second writer gets an error that names the first. The order of
syncs is always the same: the bytes of files, the names of the files, and then the manifest that
names them.
"""

import errno
import fcntl
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tracekit.base.errors import TracekitError

#: A disk writes several files in parallel in the time of one.
_SIDE_BY_SIDE = 8
#: Errors of a file system that cannot sync a folder.
_CANNOT = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}


def sync(paths: Iterable[Path]) -> None:
    """Return once the bytes of these files, and the names in these folders, are on the disk.

    Raises
    ------
    OSError
        For a file that cannot be written. Some of its bytes may be on the disk, and a later
        sync would prove nothing: the file must be written again.
    """
    every = list(dict.fromkeys(paths))
    if len(every) <= 1:
        for path in every:
            _sync(path)
        return
    with ThreadPoolExecutor(min(_SIDE_BY_SIDE, len(every))) as pool:
        for _ in pool.map(_sync, every):
            pass


def sync_tree(folder: Path) -> None:
    """Sync a folder with all its content. Links are not followed.

    Raises as ``sync``.
    """
    every = [one for one in folder.rglob("*") if not one.is_symlink()]
    sync([*(one for one in every if one.is_file() or one.is_dir()), folder])


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, and sync their names.

    Raises OSError when a folder cannot be made.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    sync(one.parent for one in missing)


def put(moves: Mapping[Path, Path], root: Path) -> None:
    """Sync files, move them to their targets, and sync the folders of the targets.

    Parameters
    ----------
    moves : the target of each file; an existing target is replaced
    root : the folder of all targets; missing folders below it are made

    Raises
    ------
    OSError
        As ``sync``, before any file is moved; and for a file that cannot be moved.
    """
    sync(moves)
    folders = {one for target in moves.values() for one in target.parents if root in one.parents}
    for folder in sorted(folders):
        folder.mkdir(parents=True, exist_ok=True)
    for source, target in moves.items():
        source.replace(target)
    sync([*sorted(folders), root])


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT or not path.is_dir():
            raise
    finally:
        os.close(handle)


#: The lock file of a folder that has one writer at a time; a process that was killed leaves it.
LOCK = ".lock"


@contextmanager
def locked(path: Path, *, busy: str) -> Iterator[None]:
    """Hold an exclusive lock on the file ``path`` in a ``with`` block. Make its folder if missing.

    The lock ends with the process, even with a killed one.

    Parameters
    ----------
    busy : the beginning of the error for a second process: '... is being written'

    Raises
    ------
    TracekitError
        When another process holds the lock; the error names the process.
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
    """Whether the opened file is still the file at the path."""
    try:
        at_path = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(at_path, os.fstat(handle.fileno()))
