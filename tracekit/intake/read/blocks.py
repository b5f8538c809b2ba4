"""Cuts a byte stream into blocks of whole lines, and lists the malformed lines of a block.

``GunzipStream`` unpacks gzip at the speed of isal, in large pieces; the library checks checksum and
length. ``isal.igzip.IGzipFile`` does the same through Python's buffered readers and takes twice the
CPU time.
"""

import functools
import re
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from isal import igzip_lib
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray, UInt8Array

BLOCK_BYTES = 1 << 20
#: Bytes behind a block: the compiled walk reads whole words.
PADDING = 8
_TWO_ENDS = b"\n\n"
_ENDS = re.compile(rb"\n++")
BOM = b"\xef\xbb\xbf"
#: Matches only at the first return of a run, so that the time is linear in the length of the run.
_RETURNS = re.compile(rb"(?<!\r)\r++\n")

# Limits on trace files: they bound the memory and the time that a file can take.
#
# Real archives hold one CSV whose lines have about 300 bytes. Each limit is far above that.

#: The longest line of a CSV; a longer line is a reject.
LINE_BYTES = 1 << 20
#: The most empty lines in a row; each is a reject.
EMPTY_LINES = 1 << 22
#: The longest extended header of a tar archive.
HEADER_BYTES = 1 << 20
#: The most files that an archive may hold.
MEMBERS = 10_000

TEXT_SHOWN = 240
_FIELDS, _NUL, _ENCODING, _RETURN, _LENGTH = 1, 2, 3, 4, 5
#: The reasons for text in another encoding, and for a line without text.
NOT_UTF8 = "is not UTF-8 text"
EMPTY = "is empty"
#: polars would silently drop this return from the field before the comma.
RETURN = b"\r,"
_RAW_BYTES = 1 << 20
#: The first piece of a further member: the unused rest of a piece is copied for each member.
_FIRST_BYTES = 1 << 10
_NO_PADDING = re.compile(rb"[^\0]")


class Readable(Protocol):
    """A stream of bytes: any object with a method ``read``."""

    def read(self, size: int, /) -> bytes | None:
        """Return up to ``size`` bytes; an empty result means the end of the stream."""


class GunzipStream:
    """A reader of the content of a gzip stream of one or several members.

    Raises EOFError when the stream ends early, and isal's error when it is corrupt.
    """

    def __init__(self, raw: Readable) -> None:
        self._raw = raw
        self._member = _new_member()
        self._ahead = b""
        self._at = 0
        self._piece_bytes = _RAW_BYTES

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes of content, or no bytes at the end of the stream."""
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


def lines_in_blocks(
    stream: Readable, block_bytes: int = BLOCK_BYTES, padding: int = 0
) -> Iterator[bytes]:
    r"""Yield blocks of whole lines, each ending in ``\n``, of about ``block_bytes``.

    A byte-order mark at the start is removed. Windows line ends become ``\n``, and a last line
    without an end gets one. ``padding`` zero bytes follow each block.

    A line longer than ``LINE_BYTES`` is cut there and ends in a NUL, which makes it malformed: see
    ``Lines.faults``.

    Raises
    ------
    BeyondLimitError
        For more than ``EMPTY_LINES`` consecutive empty lines.
    """
    empty = _EmptyLines()
    rest: list[bytes | memoryview] = []
    behind = bytes(padding)
    first = True
    waiting = 0
    while pieces := pieces_of(stream, block_bytes):
        if first:
            pieces[0] = b"".join(pieces).removeprefix(BOM)
            del pieces[1:]
            first = False
        after = _cut(pieces)
        if after is None:
            waiting += sum(map(len, pieces))
            rest = [_cut_short([*rest, *pieces])] if waiting > LINE_BYTES else rest + pieces
            continue
        if waiting > LINE_BYTES:
            pieces = [_from_line_end(pieces)]
        block = _unix(b"".join([*rest, *pieces, behind]))
        empty.count(block, len(block) - padding)
        yield block
        rest, waiting = after, sum(map(len, after))
    if any(rest):
        yield _unix(b"".join([*rest, b"\n", behind]))


class _EmptyLines:
    """Counts the empty lines at the end of the text that was read."""

    def __init__(self) -> None:
        self._bytes = 0
        self._run = 0

    def count(self, block: bytes, size: int) -> None:
        """Add a block of whole lines; ``size`` is its length without the padding."""
        leading = _ENDS.match(block)
        newlines = len(leading[0]) if leading else 0
        if self._run + newlines > EMPTY_LINES:
            raise BeyondLimitError(
                f"has more than {EMPTY_LINES:,} empty lines one behind another, from byte"
                f" {self._bytes - self._run:,} of its text on"
            )
        if newlines == size:
            self._run += size
        elif block.endswith(_TWO_ENDS, 0, size):
            self._run = size - len(block[:size].rstrip(b"\n")) - 1
        else:
            self._run = 0
        self._bytes += size


def _cut(pieces: list[bytes | memoryview]) -> list[bytes | memoryview] | None:
    """Remove the text after the last line end from the pieces, and return it; None if no end."""
    for at in range(len(pieces) - 1, -1, -1):
        piece = pieces[at]
        end = bytes(piece).rfind(b"\n") + 1
        if end:
            after: list[bytes | memoryview] = [memoryview(piece)[end:], *pieces[at + 1 :]]
            pieces[at:] = [memoryview(piece)[:end]]
            return after
    return None


def _cut_short(line: list[bytes | memoryview]) -> bytes:
    """The beginning of a line that is longer than the limit, with a NUL at its end."""
    return b"".join(line)[:LINE_BYTES] + b"\0"


def _from_line_end(pieces: list[bytes | memoryview]) -> bytes:
    """The rest of the pieces, from the end of the line that was cut."""
    whole = b"".join(pieces)
    return whole[whole.index(b"\n") :]


def pieces_of(stream: Readable, size: int) -> list[bytes | memoryview]:
    """Return the next ``size`` bytes of a stream, or all bytes before its end, in pieces."""
    parts: list[bytes | memoryview] = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return parts


def _unix(block: bytes) -> bytes:
    if b"\r" not in block:
        return block
    block = block.replace(b"\r\n", b"\n")
    # some tools convert to Windows line ends more than once
    return _RETURNS.sub(b"\n", block) if b"\r\n" in block else block


class BeyondLimitError(Exception):
    """The error that a file exceeds a limit.

    Its text continues a sentence that begins with the file's name.
    """


class Lines:
    """The lines of one block of CSV, to find malformed ones without splitting the block.

    Parameters
    ----------
    block : whole lines, each ending in a newline
    width : the number of fields a line must have
    first_line : the line number of the block's first line
    """

    def __init__(self, block: bytes, width: int, first_line: int) -> None:
        self.block = block
        self.first_line = first_line
        self._width = width

    @functools.cached_property
    def _bytes(self) -> UInt8Array:
        return np.frombuffer(self.block, dtype=np.uint8)

    @functools.cached_property
    def _ends(self) -> IntArray:
        return np.flatnonzero(self._bytes == ord("\n"))

    @functools.cached_property
    def count(self) -> int:
        """The number of lines."""
        return self.block.count(b"\n")

    def text(self, line: int) -> bytes:
        """Return the text of the line with this line number in the file, without its newline."""
        at = line - self.first_line
        start = int(self._ends[at - 1]) + 1 if at else 0
        return self.block[start : int(self._ends[at])]

    def faults(self) -> NDArray[np.int8]:
        """Return for each line the code of its fault, 0 without a fault, shape (lines,)."""
        faults = np.zeros(len(self._ends), dtype=np.int8)
        commas = np.searchsorted(np.flatnonzero(self._bytes == ord(",")), self._ends)
        faults[np.diff(commas, prepend=0) != self._width - 1] = _FIELDS
        faults[np.searchsorted(self._ends, np.flatnonzero(self._bytes == 0))] = _NUL
        if RETURN in self.block:
            ends = (self._bytes[:-1] == RETURN[0]) & (self._bytes[1:] == RETURN[1])
            faults[np.searchsorted(self._ends, np.flatnonzero(ends))] = _RETURN
        foreign = np.searchsorted(self._ends, np.flatnonzero(self._bytes >= 0x80))
        for at in sorted(set(foreign.tolist())):
            try:
                self.text(at + self.first_line).decode()
            except UnicodeDecodeError:
                faults[at] = _ENCODING
        # a line that was cut ends in the NUL that ``lines_in_blocks`` added
        long = np.flatnonzero(np.diff(self._ends, prepend=-1) > LINE_BYTES)
        faults[long[self._bytes[self._ends[long] - 1] == 0]] = _LENGTH
        return faults

    def empty(self) -> BoolArray:
        """Return which lines have no text, shape (lines,)."""
        return np.asarray(np.diff(self._ends, prepend=-1) == 1)

    def without(self, bad: IntArray) -> bytes:
        """Return the block without the lines at these positions, counted from 0."""
        is_staying = np.ones(len(self._ends), dtype=np.bool_)
        is_staying[bad] = False
        return self._bytes[np.repeat(is_staying, np.diff(self._ends, prepend=-1))].tobytes()

    def reason(self, line: int, fault: int) -> str:
        """Return the fault of a malformed line, in words."""
        if fault == _NUL:
            return "holds a NUL byte, expected text"
        if fault == _RETURN:
            return "has a field that ends in a carriage return, expected text"
        if fault == _LENGTH:
            return f"is longer than {LINE_BYTES >> 20} MiB, expected {self._width} fields"
        if fault == _ENCODING:
            return NOT_UTF8
        text = self.text(line)
        return f"has {text.count(b',') + 1} fields, expected {self._width}" if text else EMPTY

    def shown(self, line: int) -> str:
        """Return the text of a line for the rejects: readable, and cut if it is long."""
        return self.text(line)[:TEXT_SHOWN].decode(errors="replace").replace("\0", "\\0")
