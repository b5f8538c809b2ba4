"""Replaces a file or folder in one step: a reader sees the old one or the new one.

The new one is written under a hidden name beside its place, and synced before it gets its name.
Where the system can exchange two names in one step (Linux), a folder is exchanged. Elsewhere the
old folder is put aside for a moment; a process that sees it aside puts it back. A killed process
leaves its hidden folder or file, which the next writer of the same place removes.
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import make_folder, sync, sync_tree

#: Part of hidden names; files and folders with it may be removed.
_MARK = ".tracekit-"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
#: Errors of a system, or file system, that cannot exchange names.
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}
#: The table of mounts; the fifth field of a line is the folder.
_MOUNTS = Path("/proc/self/mountinfo")


@contextlib.contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Yield a new empty folder, which atomically replaces ``folder`` unless the block fails.

    Raises
    ------
    TracekitError
        For a mount point, which no folder can replace.
    """
    folder = folder.resolve() if folder.is_symlink() else folder
    if is_mount_point(folder):
        raise TracekitError(
            f"{folder} is a mount point, which no folder that is written beside it can replace",
            hint=f"a folder in it can be replaced: {folder / 'NAME'}",
        )
    make_folder(folder.parent)
    put_back(folder)
    clear_away(folder)
    made, handle = _held(lambda: tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
    try:
        yield made
        made.chmod(0o777 & ~_umask())
        sync_tree(made)
        _put_in_place(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(handle)


def is_mount_point(folder: Path) -> bool:
    """Return whether a disk, or another folder (a bind mount), is mounted on a folder."""
    if not folder.is_dir():
        return False
    if folder.is_mount():
        return True
    # a folder of the same disk that is mounted looks like any other but here
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return False
    here = os.fsencode(folder.resolve())
    return any(_plain(line.split(b" ")[4]) == here for line in lines)


def _plain(path: bytes) -> bytes:
    """A path of the table of mounts, in which blanks and backslashes are octal numbers."""
    return re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), path)


@contextlib.contextmanager
def replaced_file(path: Path, *, follow: bool = True, durable: bool = True) -> Iterator[Path]:
    """Yield a path for a new file, which atomically replaces ``path`` unless the block fails.

    Parameters
    ----------
    follow : bool
        Whether a link is followed, so that its target is replaced; otherwise the link is replaced.
    durable : bool
        Whether the file is synced. Readers of a file that is not synced must check its hash.
    """
    path = path.resolve() if follow and path.is_symlink() else path
    if follow and path.exists() and not path.is_file():
        yield path  # a terminal or a pipe; and for a folder the error is the caller's
        return
    make_folder(path.parent)
    clear_away(path)
    made, handle = _held(lambda: _new_file(path))
    try:
        yield made
        made.chmod(0o666 & ~_umask())
        sync([made] if durable else [])
        made.replace(path)
        sync([path.parent] if durable else [])
    finally:
        made.unlink(missing_ok=True)
        os.close(handle)


def taken_over(paths: Iterable[Path], folder: Path) -> None:
    """Link or copy files and folders into ``folder``, except those whose name it already has.

    Each file is hard-linked if the file system can do that, and otherwise copied. The originals
    stay in place.
    """
    for path in paths:
        target = folder / path.name
        if os.path.lexists(target):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, target, symlinks=True, copy_function=_named_too)
        else:
            _named_too(path, target)


def _named_too(path: str | Path, target: str | Path) -> None:
    try:
        os.link(path, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, target, follow_symlinks=False)


def put_back(folder: Path) -> None:
    """Restore a folder that a killed process had renamed in order to replace it."""
    on_this_machine = isinstance(folder, Path)  # what lies on an object store is never put aside
    if on_this_machine and not os.path.lexists(folder) and _aside(folder).is_dir():
        with contextlib.suppress(OSError):
            _aside(folder).rename(folder)


def _put_in_place(made: Path, folder: Path) -> None:
    """Give a folder its name; an old folder of that name is then named ``made``, or is removed."""
    while True:
        try:
            made.rename(folder)  # nothing, or an empty folder, is there
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise
        else:
            break
        if _exchanged(made, folder):
            break
        shutil.rmtree(_aside(folder), ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            folder.rename(_aside(folder))
        with contextlib.suppress(OSError):
            made.rename(folder)
            break
        # somebody else has brought the earlier folder back in between
    # the earlier one goes only when the new one is sure to stay
    sync([folder.parent])
    shutil.rmtree(_aside(folder), ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system cannot."""
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


@functools.cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    call.restype = ctypes.c_int
    exchange: Callable[[int, bytes, int, bytes, int], int] = call
    return exchange


def _prefix(path: Path) -> str:
    return f".{path.name}{_MARK}"


def _aside(folder: Path) -> Path:
    return folder.with_name(f"{_prefix(folder)}aside")


def _new_file(path: Path) -> str:
    handle, name = tempfile.mkstemp(prefix=_prefix(path), dir=path.parent)
    os.close(handle)
    return name


def _held(make: Callable[[], str]) -> tuple[Path, int]:
    """A new file or folder, locked while the handle is open, which shows that its maker lives."""
    while True:
        made = Path(make())
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(made, os.O_RDONLY)
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if made.exists():
                    return made, handle
            if made.exists():
                return made, handle  # a file system without locks
            os.close(handle)


def clear_away(path: Path) -> None:
    """Remove the temporary files and folders that killed writers of ``path`` left in its folder."""
    for left in path.parent.iterdir():
        if not left.name.startswith(_prefix(path)):
            continue
        with contextlib.suppress(OSError):
            handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink()
            finally:
                os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Numbers of archives as users write them: ``0-3,7``.


@dataclass(frozen=True)
class Parts:
    """A set of whole numbers, stored as ranges so that a huge range takes no memory."""

    ranges: tuple[range, ...]

    def __contains__(self, number: object) -> bool:
        return any(number in numbers for numbers in self.ranges)


def parse_parts(text: str | None) -> Parts | None:
    """Return the numbers in a text: ``"0-3,7"`` contains 0, 1, 2, 3 and 7.

    Return None for None, which stands for all numbers. Raises TracekitError for a text of another
    form.
    """
    if text is None:
        return None
    ranges = []
    for piece in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", piece)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise TracekitError(
                f"--parts {text}: '{piece.strip()}' is no range of parts",
                hint="write numbers and ranges, for example --parts 0-3,7",
            )
        ranges.append(range(first, last + 1))
    return Parts(tuple(ranges))
