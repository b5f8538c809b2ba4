"""The members of a tar stream, read forwards only and in large pieces.

Headers are Python's ``tarfile``'s to understand; only the copying between its buffers is left out,
which costs as much as the decompression itself.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator

from tracekit.read.gunzip import Readable
from tracekit.read.limits import HEADER_BYTES, MEMBERS, BeyondLimitError

_BLOCK = tarfile.BLOCKSIZE
_PAX_SIZE = re.compile(rb"\d+ size=(\d+)\n")
_SKIPPED_BYTES = 1 << 20


class TarMember:
    """One file of the archive; must be read, or skipped, before the next is asked for."""

    def __init__(self, stream: Readable, name: str, size: int) -> None:
        self.name = name
        self._stream = stream
        self._left = size

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes of the file; raises EOFError when the archive ends within it."""
        if not self._left:
            return b""
        data = self._stream.read(min(size, self._left)) or b""
        if not data:
            raise EOFError("the archive ends within a file")
        self._left -= len(data)
        return data

    def skip(self) -> None:
        """Read on to the file's end."""
        while self.read(_SKIPPED_BYTES):
            pass


def tar_members(stream: Readable) -> Iterator[TarMember]:
    """The regular files of a tar stream, one after another.

    Raises EOFError when the archive is cut, tarfile.HeaderError when a header is broken,
    BeyondLimitError for more files or longer headers than a trace can have.
    """
    size_override: int | None = None
    headers = 0
    while (header := _exactly(stream, _BLOCK)).strip(b"\0"):
        headers += 1
        if headers > 2 * MEMBERS:  # a file may have an extended header before its own
            raise BeyondLimitError(f"is an archive of more than {MEMBERS:,} files")
        info = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
        if info.size < 0:
            raise tarfile.HeaderError(f"{info.name!r} is {info.size:,} bytes long")
        member = TarMember(stream, info.name, info.size)
        if info.type in (tarfile.XHDTYPE, tarfile.XGLTYPE):
            size_override = _size_in(member, info.size) or size_override
        elif info.isreg():
            if size_override is not None:
                member = TarMember(stream, info.name, size_override)
                info.size, size_override = size_override, None
            yield member
        member.skip()
        _exactly(stream, -info.size % _BLOCK)


def _size_in(member: TarMember, size: int) -> int | None:
    """The size of the file that an extended header speaks of, if it tells it."""
    if size > HEADER_BYTES:
        raise BeyondLimitError(
            f"has an extended header of {size:,} bytes, expected at most {HEADER_BYTES:,}"
        )
    found = _PAX_SIZE.search(b"".join(iter(lambda: member.read(_SKIPPED_BYTES), b"")))
    return int(found[1]) if found else None


def _exactly(stream: Readable, size: int) -> bytes:
    parts = []
    while size > 0:
        data = stream.read(size)
        if not data:
            raise EOFError("the archive ends before its end mark")
        parts.append(data)
        size -= len(data)
    return b"".join(parts)
