"""Whether an archive is whole: decompressed to its end, every checksum compared."""

import hashlib
from pathlib import Path
from typing import cast

from isal import igzip_lib, isal_zlib

from tracekit.base.opened import GZIP_MAGIC
from tracekit.intake.fetch.retry import FetchError

_CHUNK_BYTES = 1 << 20
_GZIP_BITS = 31
#: The stubs of isal declare its error class as one error.
_IsalError = cast("type[Exception]", igzip_lib.IsalError)


class DamagedError(FetchError):
    """An archive that is complete by length and broken inside.

    Parameters
    ----------
    sha256 : str
        Of the whole file: a file that comes twice with the same damage is damaged on the server.
    """

    def __init__(self, what: str, sha256: str) -> None:
        super().__init__(what, hint="it is fetched again from the start")
        self.sha256 = sha256


def checked(path: Path, name: str, expected: str | None = None) -> str:
    """The sha256 of a whole gzip file; raises DamagedError when it is not whole, or no gzip.

    CRC-32 and length of every gzip member are compared, and nothing may follow the last one but
    zero bytes. A file with another sha256 than the one expected is damaged too.
    """
    digest, fault = hashlib.sha256(), None
    reader = _Gunzip()
    with path.open("rb") as handle:
        while chunk := handle.read(_CHUNK_BYTES):
            digest.update(chunk)
            fault = fault or reader.feed(chunk)
    fault = fault or reader.end()
    if fault is None and expected not in {None, digest.hexdigest()}:
        fault = f"has the sha256 {digest.hexdigest()}, expected {expected} as upstream states it"
    if fault is not None:
        raise DamagedError(f"{name} {fault}", digest.hexdigest())
    return digest.hexdigest()


class _Gunzip:
    """Decompresses to nowhere; says what is wrong, if anything."""

    def __init__(self) -> None:
        self._inside: isal_zlib.Decompress | None = None
        self._head = b""
        self._members = 0

    def feed(self, chunk: bytes) -> str | None:
        """Take the next bytes."""
        try:
            while chunk:
                chunk = self._take(chunk)
        except _IsalError as error:
            return f"is corrupt: {error}"
        except _NotGzipError:
            if self._members:
                return "is corrupt: something else follows the archive"
            return f"is no gzip archive; it starts with {self._head[:12]!r}"
        return None

    def end(self) -> str | None:
        """Say that the file ends here."""
        if self._inside is not None:
            return "is truncated: the archive ends before its content does"
        return None if self._members else "is no gzip archive, it is empty"

    def _take(self, chunk: bytes) -> bytes:
        """Use some of the bytes and return the others."""
        if self._inside is None:
            self._head = (self._head + chunk).lstrip(b"\0") if self._members else self._head + chunk
            if len(self._head) < len(GZIP_MAGIC):
                return b""
            if not self._head.startswith(GZIP_MAGIC):
                raise _NotGzipError
            chunk, self._head = self._head, b""
            self._inside = isal_zlib.decompressobj(wbits=_GZIP_BITS)
        self._inside.decompress(chunk)
        if not self._inside.eof:
            return b""
        left = bytes(self._inside.unused_data)
        self._inside, self._members = None, self._members + 1
        return left


class _NotGzipError(Exception):
    """The bytes do not start as gzip does."""
