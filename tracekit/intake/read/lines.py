"""The lines of a block: which are malformed, and the text of each."""

import functools

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray, UInt8Array

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


class BeyondLimitError(Exception):
    """A file exceeds a limit; the message continues a sentence that begins with the file's name."""


TEXT_SHOWN = 240

_FIELDS, _NUL, _ENCODING, _RETURN, _LENGTH = 1, 2, 3, 4, 5
#: The reasons for text in another encoding, and for a line without text.
NOT_UTF8 = "is not UTF-8 text"
EMPTY = "is empty"
#: polars would silently drop this return from the field before the comma.
RETURN = b"\r,"


class Lines:
    """The lines of a block of CSV; the block is not split.

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
        """The text of the line with this number, without its end."""
        at = line - self.first_line
        start = int(self._ends[at - 1]) + 1 if at else 0
        return self.block[start : int(self._ends[at])]

    def faults(self) -> NDArray[np.int8]:
        """For each line the code of its fault, 0 without a fault, shape (lines,)."""
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
        """Which lines have no text, shape (lines,)."""
        return np.asarray(np.diff(self._ends, prepend=-1) == 1)

    def without(self, bad: IntArray) -> bytes:
        """The block without the lines at these places."""
        stays = np.ones(len(self._ends), dtype=np.bool_)
        stays[bad] = False
        return self._bytes[np.repeat(stays, np.diff(self._ends, prepend=-1))].tobytes()

    def reason(self, line: int, fault: int) -> str:
        """The fault of a malformed line, in words."""
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
        """The text of a line for the rejects: readable, and cut if it is long."""
        return self.text(line)[:TEXT_SHOWN].decode(errors="replace").replace("\0", "\\0")
