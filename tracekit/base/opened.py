"""Opens files that a user named: what is no file is named as what it is.

Opening a pipe waits for who writes into it, and a device may be read without end. So whatever a
user gives, and whatever lies in a folder that others can write, is opened here.
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

#: What files of these kinds begin with.
GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"


class NoFileError(OSError):
    """Something else stands where a file is expected; ``strerror`` says what."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(errno.EINVAL, f"it is {what}, not a file", str(path))
        self.what = what


def sort_of(mode: int) -> str | None:
    """The word for a thing of that mode; None for a file, a folder and a link."""
    return next((name for test, name in _SORTS if test(mode)), None)


def check_file(path: Path) -> None:
    """Raise NoFileError for a pipe, a socket or a device, and OSError where nothing is."""
    what = sort_of(os.stat(path).st_mode)  # noqa: PTH116 - asked for each of thousands of parts
    if what is not None:
        raise NoFileError(path, what)


def open_file(path: Path) -> BufferedReader:
    """A file of this machine or of an object store, for reading.

    Raises
    ------
    NoFileError
        For a pipe, a socket or a device.
    OSError
        Where it is not there, or may not be read.
    """
    if isinstance(path, Path):
        check_file(path)
    return path.open("rb")


def read_bytes(path: Path) -> bytes:
    """All of a file; raises as ``open_file``."""
    with open_file(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """All of a file, which is text in UTF-8; raises as ``open_file``, and UnicodeDecodeError."""
    text = read_bytes(path).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def is_file(path: Path) -> bool:
    """Whether there is a file; raises NoFileError where a pipe, a socket or a device is."""
    if not isinstance(path, Path):
        return bool(path.is_file())
    if path.exists():
        check_file(path)
    return path.is_file()
