"""Opens a trace file as CSV, gzip, tar or tar.gz; its first bytes say which it is."""

import hashlib
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from isal import igzip_lib
from isal.isal_zlib import crc32

from tracekit.base.errors import TracekitError
from tracekit.base.files.ahead import BackgroundCalls
from tracekit.base.files.places import open_head
from tracekit.base.opened import GZIP_MAGIC, PARQUET_MAGIC
from tracekit.intake.read.blocks import (
    HEADER_BYTES,
    MEMBERS,
    BeyondLimitError,
    GunzipStream,
    Readable,
    pieces_of,
)

# The members of a tar stream, read forwards in large pieces. ``tarfile`` parses the headers. Its
# copying between buffers is avoided: that costs as much as the decompression.

_BLOCK = tarfile.BLOCKSIZE
_PAX_SIZE = re.compile(rb"\d+ size=(\d+)\n")
_SKIPPED_BYTES = 1 << 20


class TarMember:
    """One file of an archive; it must be read or skipped before the next one."""

    def __init__(self, stream: Readable, name: str, size: int) -> None:
        self.name = name
        self._stream = stream
        self._left = size

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes of the file. Raise EOFError if the archive ends within it."""
        if not self._left:
            return b""
        data = self._stream.read(min(size, self._left)) or b""
        if not data:
            raise EOFError("the archive ends within a file")
        self._left -= len(data)
        return data

    def skip(self) -> None:
        """Read to the end of the file."""
        while self.read(_SKIPPED_BYTES):
            pass


def tar_members(stream: Readable) -> Iterator[TarMember]:
    """Yield the regular files of a tar stream, in their order.

    Raises
    ------
    EOFError
        If the archive is cut.
    tarfile.HeaderError
        If a header is broken.
    BeyondLimitError
        If the archive has more files or a longer header than the limits allow.
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
    """The file size that an extended header states; None if it states none."""
    if size > HEADER_BYTES:
        raise BeyondLimitError(
            f"has an extended header of {size:,} bytes, expected at most {HEADER_BYTES:,}"
        )
    size_field = _PAX_SIZE.search(b"".join(iter(lambda: member.read(_SKIPPED_BYTES), b"")))
    return int(size_field[1]) if size_field else None


def _exactly(stream: Readable, size: int) -> bytes:
    data = b"".join(pieces_of(stream, size))
    if len(data) < size:
        raise EOFError("the archive ends before its end mark")
    return data


class UnreadableError(TracekitError):
    """The error that a file is damaged: empty, cut or corrupt."""


FileKind = Literal["csv", "csv.gz", "tar", "tar.gz", "parquet"]

_TAR_MAGIC_AT = 257
_TAR_MAGIC = b"ustar"
_HEAD_BYTES = 512
_AGAIN = "nothing of it was ingested; fetch the file again"


@dataclass
class Member:
    """One CSV inside a trace file, or the file itself, as a stream of bytes."""

    name: str
    stream: Readable


class HashingReader:
    """A binary file that counts and hashes the bytes read; the hash runs in another thread."""

    def __init__(self, raw: BinaryIO, on_read: Callable[[int], None] | None = None) -> None:
        self._raw = raw
        self._hash = hashlib.sha256()
        self._beside = BackgroundCalls()
        self._on_read = on_read

    def read(self, size: int, /) -> bytes:
        """Read up to ``size`` bytes."""
        data = self._raw.read(size)
        self._beside.do(self._hash.update, data)
        if self._on_read is not None:
            self._on_read(len(data))
        return data

    def finish(self) -> str:
        """Read to the end; return the sha256 of the whole file."""
        while self.read(1 << 20):
            pass
        self._beside.finish()
        return self._hash.hexdigest()


class ContentReader:
    """A stream with the CRC-32 and length of the bytes read, which identify the content."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self.crc = 0
        self.count_bytes = 0

    def read(self, size: int, /) -> bytes:
        """Read up to ``size`` bytes."""
        data = self._stream.read(size) or b""
        self.crc = crc32(data, self.crc)
        self.count_bytes += len(data)
        return data


def file_kind(path: Path) -> FileKind:
    """Return the kind of a file, by its content. Raise TracekitError for an empty file."""
    with open_head(path) as raw:
        head = raw.read(_HEAD_BYTES)
    if not head:
        raise UnreadableError(
            f"{path.name} is empty (0 bytes), expected a trace table",
            hint="the download may have failed; fetch it again",
        )
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    if head.startswith(GZIP_MAGIC):
        return "tar.gz" if _is_tar(_gzip_head(path)) else "csv.gz"
    return "tar" if _is_tar(head) else "csv"


def _is_tar(head: bytes) -> bool:
    return head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + len(_TAR_MAGIC)] == _TAR_MAGIC


def _gzip_head(path: Path) -> bytes:
    with damaged_as_error(path), open_head(path) as raw:
        return b"".join(pieces_of(GunzipStream(raw), _HEAD_BYTES))


@contextmanager
def damaged_as_error(path: Path) -> Iterator[None]:
    """Turn the exceptions of a cut or corrupt archive into one UnreadableError."""
    try:
        yield
    except EOFError as error:
        raise UnreadableError(
            f"{path.name} is truncated: the archive ends before its content does"
            f" ({path.stat().st_size:,} bytes on disk)",
            hint=_AGAIN,
        ) from error
    except BeyondLimitError as error:
        raise UnreadableError(
            f"{path.name} {error}",
            hint="nothing of it was ingested; is it a trace table, and whole?",
        ) from error
    except (igzip_lib.IsalError, tarfile.TarError) as error:  # type: ignore[misc]  # untyped
        raise UnreadableError(
            f"{path.name} is corrupt: {error}",
            hint=_AGAIN,
        ) from error


def members(path: Path, kind: FileKind, raw: HashingReader) -> Iterator[Member]:
    """Yield the CSV members of a file. Each must be read before the next is requested.

    After the last member the archive is read to its end, so that a cut or corrupt tail raises. Wrap
    the loop in ``damaged_as_error``.
    """
    stream: Readable = GunzipStream(raw) if kind in {"csv.gz", "tar.gz"} else raw
    if kind in {"csv", "csv.gz"}:
        yield Member(path.name.removesuffix(".gz"), stream)
    else:
        for member in tar_members(stream):
            base = Path(member.name).name
            if not base.startswith("."):
                yield Member(base, member)
    while stream.read(1 << 20):
        pass
