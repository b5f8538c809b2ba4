"""The files in a zip, each opened as if it lay beside the others."""

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from typing import cast

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._cluster import Head, Opened

#: So much of a file tells what it is.
HEAD_BYTES = 1 << 16
#: What unpacking a damaged, encrypted or strangely packed member raises.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError)


def zipped(path: Path, name: str) -> list[tuple[Head, Opened]]:
    """How each file in a zip begins, and the file, in order of their names.

    Raises
    ------
    TracekitError
        When it cannot be unpacked.
    """
    found = []
    with unreadable_as_error(name), zipfile.ZipFile(path) as archive:
        for member in sorted(one for one in archive.namelist() if not one.endswith("/")):
            with archive.open(member) as stream:
                head = Head(name=Path(member).name, start=stream.read(HEAD_BYTES))
            stream_of = partial(_member, path, name, member)
            found.append((head, Opened(path=path, name=member, stream=stream_of)))
    return found


def _member(path: Path, name: str, member: str) -> BufferedIOBase:
    """A member, unpacked as it is read."""
    with unreadable_as_error(name), zipfile.ZipFile(path) as archive:
        return cast("BufferedIOBase", archive.open(member))


@contextmanager
def unreadable_as_error(name: str) -> Iterator[None]:
    """Raise TracekitError where unpacking fails."""
    try:
        yield
    except TracekitError:
        raise
    except (*_UNREADABLE, RuntimeError) as error:  # RuntimeError: it is encrypted
        raise TracekitError(
            f"{name} cannot be unpacked: {error}", hint="it is damaged: fetch it again"
        ) from None
