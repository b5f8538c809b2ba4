"""Syncs: what a command says is done is on the disk, and stays there when the power goes.

The order is the same everywhere: the bytes of files, then their names, then what names the files.
"""

import errno
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

#: A disk writes several files side by side in the time of one.
_SIDE_BY_SIDE = 8
#: What a file system answers that cannot sync a folder.
_CANNOT = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}


def sync(paths: Iterable[Path]) -> None:
    """Return once the bytes of these files, and the names in these folders, are on the disk.

    Raises
    ------
    OSError
        When one cannot be written. Its bytes may or may not be on the disk then, and a later sync
        of it proves nothing: it has to be written again.
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
    """Sync a folder with all that lies in it; links are not followed. Raises as ``sync``."""
    every = [one for one in folder.rglob("*") if not one.is_symlink()]
    sync([*(one for one in every if one.is_file() or one.is_dir()), folder])


def make_folder(folder: Path) -> None:
    """Make a folder, with those above it that are missing; all of them stay. Raises OSError."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    sync(one.parent for one in missing)


def put(moves: Mapping[Path, Path], root: Path) -> None:
    """Sync files, give them their names, and sync the folders that they come to lie in.

    Parameters
    ----------
    moves : from where to where; what is there is replaced
    root : the folder that all targets lie in; folders below it are made where they are missing

    Raises
    ------
    OSError
        As ``sync``, before any file has its name; or when a file cannot be moved.
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
