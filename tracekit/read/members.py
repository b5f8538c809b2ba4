"""Opens a trace file, whatever it is: CSV, gzip, tar, tar.gz; told apart by its first bytes."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from isal import igzip_lib
from isal.isal_zlib import crc32

from tracekit.errors import TracekitError
from tracekit.files.ahead import Beside
from tracekit.files.places import open_head
from tracekit.opened import GZIP_MAGIC, PARQUET_MAGIC
from tracekit.read.gunzip import GunzipStream, Readable
from tracekit.read.limits import BeyondLimitError
from tracekit.read.untar import tar_members


class UnreadableError(TracekitError):
    """A file that is damaged: empty, cut or corrupt."""


FileKind = Literal["csv", "csv.gz", "tar", "tar.gz", "parquet"]

_TAR_MAGIC_AT = 257
_TAR_MAGIC = b"ustar"
_HEAD_BYTES = 512
_AGAIN = "nothing of it was ingested; fetch the file again"


@dataclass
class Member:
    """One CSV inside a trace file (or the file itself), as a stream of bytes."""

    name: str
    stream: Readable


class HashingReader:
    """A binary file that hashes and counts what is read from it; the hash in another thread."""

    def __init__(self, raw: BinaryIO, on_read: Callable[[int], None] | None = None) -> None:
        self._raw = raw
        self._hash = hashlib.sha256()
        self._beside = Beside()
        self._on_read = on_read

    def read(self, size: int, /) -> bytes:
        """Read like a file."""
        data = self._raw.read(size)
        self._beside.do(self._hash.update, data)
        if self._on_read is not None:
            self._on_read(len(data))
        return data

    def finish(self) -> str:
        """Read what is left and return the sha256 of the whole file."""
        while self.read(1 << 20):
            pass
        self._beside.finish()
        return self._hash.hexdigest()


class ContentReader:
    """A stream that keeps the CRC-32 and length of what was read: the identity of the content."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self.crc = 0
        self.count_bytes = 0

    def read(self, size: int, /) -> bytes:
        """Read like a file."""
        data = self._stream.read(size) or b""
        self.crc = crc32(data, self.crc)
        self.count_bytes += len(data)
        return data


def file_kind(path: Path) -> FileKind:
    """What the file is, by content; raises TracekitError for an empty file."""
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
        stream, head = GunzipStream(raw), b""
        while len(head) < _HEAD_BYTES and (more := stream.read(_HEAD_BYTES - len(head))):
            head += more
        return head


@contextmanager
def damaged_as_error(path: Path) -> Iterator[None]:
    """Turn what readers raise on a cut or corrupt archive into one clear error."""
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
    """The CSV members of a file, one after another; each must be read before the next is asked for.

    When all are consumed the archive is read to its very end, so that a cut or corrupt tail is
    noticed. Wrap the loop in ``damaged_as_error``.
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
