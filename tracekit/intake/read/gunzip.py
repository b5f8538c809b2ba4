"""A gzip stream at the speed of isal, in large pieces; the library checks checksum and length.

``isal.igzip.IGzipFile`` does the same through Python's buffered readers and takes twice the CPU
time.
"""

import re
from typing import Protocol

from isal import igzip_lib

_RAW_BYTES = 1 << 20
#: The first piece of a further member: the unused rest of a piece is copied for each member.
_FIRST_BYTES = 1 << 10
_NO_PADDING = re.compile(rb"[^\0]")


class Readable(Protocol):
    """An object with ``read``."""

    def read(self, size: int, /) -> bytes | None:
        """Read up to ``size`` bytes; no bytes at the end."""


class GunzipStream:
    """Reads the content of a gzip stream of one or several members.

    Raises EOFError when the stream ends early, and isal's error when it is corrupt.
    """

    def __init__(self, raw: Readable) -> None:
        self._raw = raw
        self._member = _new_member()
        self._ahead = b""
        self._at = 0
        self._piece_bytes = _RAW_BYTES

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes of content; no bytes at the end of the stream."""
        while True:
            if self._member.eof and not self._next_member():
                return b""
            data = self._piece() if self._member.needs_input else b""
            if not data and self._member.needs_input:
                raise EOFError("the gzip stream ends before its end mark")
            content: bytes = self._member.decompress(data, size)
            if content:
                return content

    def _piece(self) -> bytes:
        """The next bytes of the stream; few after a short member, as more members may follow."""
        if self._at == len(self._ahead):
            self._ahead, self._at = self._raw.read(_RAW_BYTES) or b"", 0
        piece = self._ahead[self._at : self._at + self._piece_bytes]
        self._at += len(piece)
        self._piece_bytes = min(2 * self._piece_bytes, _RAW_BYTES)
        return piece

    def _next_member(self) -> bool:
        """Begin the next member; False if only padding is left."""
        self._at -= len(self._member.unused_data)
        while (match := _NO_PADDING.search(self._ahead, self._at)) is None:
            self._ahead, self._at = self._raw.read(_RAW_BYTES) or b"", 0
            if not self._ahead:
                return False
        self._at = match.start()
        self._member = _new_member()
        self._piece_bytes = _FIRST_BYTES
        return True


def _new_member() -> igzip_lib.IgzipDecompressor:
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
