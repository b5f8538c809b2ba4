"""Opens files, and refuses pipes, sockets and devices with their names.

Opening a pipe waits for a writer, and a device may have no end. So files that a user names, and
files in folders that others can write, are opened here.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

_SORTS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

#: The first bytes of gzip and Parquet files.
GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"


class NoFileError(OSError):
    """The error for a pipe, socket or device where a file is expected. ``strerror`` says which."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(errno.EINVAL, f"it is {what}, not a file", str(path))
        self.what = what


def sort_of(mode: int) -> str | None:
    """Return ``a pipe``, ``a socket`` or ``a device`` for a mode of ``os.stat``.

    Return None for a file, folder or link.
    """
    return next((name for test, name in _SORTS if test(mode)), None)


def check_file(path: Path) -> None:
    """Raise NoFileError for a pipe, socket or device, and OSError for a missing path."""
    what = sort_of(os.stat(path).st_mode)  # noqa: PTH116 - asked for each of thousands of parts
    if what is not None:
        raise NoFileError(path, what)


def open_file(path: Path) -> BufferedReader:
    """Open a file of this machine or of an object store for reading.

    Raises
    ------
    NoFileError
        For a pipe, a socket or a device.
    OSError
        When the file is missing or may not be read.
    """
    if isinstance(path, Path):
        check_file(path)
    return path.open("rb")


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file. Raise the errors of ``open_file``."""
    with open_file(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, with line feeds as line ends.

    Raises as ``open_file``, and UnicodeDecodeError.
    """
    text = read_bytes(path).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def is_file(path: Path) -> bool:
    """Return whether a path is a file. Raise NoFileError for a pipe, socket or device."""
    if not isinstance(path, Path):
        return bool(path.is_file())
    if path.exists():
        check_file(path)
    return path.is_file()
