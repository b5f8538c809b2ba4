"""A gzip stream at the speed of isal: large pieces, checksum and length verified by the library.

``isal.igzip.IGzipFile`` does the same through Python's buffered readers, at twice the CPU time.
"""

from __future__ import annotations

from typing import Protocol

from isal import igzip_lib

_RAW_BYTES = 1 << 20


class Readable(Protocol):
    """Anything with ``read``."""

    def read(self, size: int, /) -> bytes | None:
        """Read up to ``size`` bytes; no bytes at the end."""


class GunzipStream:
    """Reads the content of a gzip stream, of one member or of several written one after another.

    Raises EOFError when the stream ends early, and isal's error when it is corrupt.
    """

    def __init__(self, raw: Readable) -> None:
        self._raw = raw
        self._member = _new_member()
        self._begun = False

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes of content; fewer are not yet the end, none are."""
        while True:
            if self._member.eof and not self._next_member():
                return b""
            data = self._raw.read(_RAW_BYTES) if self._member.needs_input else b""
            if not data and self._member.needs_input:
                raise EOFError("the gzip stream ends before its end mark")
            content: bytes = self._member.decompress(data or b"", size)
            if content:
                return content

    def _next_member(self) -> bool:
        """Go on to a further member, if more than padding is left."""
        left = self._member.unused_data.lstrip(b"\0") or self._raw.read(_RAW_BYTES) or b""
        left = left.lstrip(b"\0")
        if not left:
            return False
        self._member = _new_member()
        self._raw = _Before(left, self._raw)
        return True


class _Before:
    """A stream with some bytes put back in front of it."""

    def __init__(self, first: bytes, rest: Readable) -> None:
        self._first = first
        self._rest = rest

    def read(self, size: int, /) -> bytes | None:
        if self._first:
            first, self._first = self._first[:size], self._first[size:]
            return first
        return self._rest.read(size)


def _new_member() -> igzip_lib.IgzipDecompressor:
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
