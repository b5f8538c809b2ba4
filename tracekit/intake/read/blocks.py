"""Cuts a byte stream into blocks of whole lines."""

import re
from collections.abc import Iterator

from tracekit.intake.read.gunzip import Readable
from tracekit.intake.read.lines import EMPTY_LINES, LINE_BYTES, BeyondLimitError

BLOCK_BYTES = 1 << 20
#: Bytes behind a block: the compiled walk reads whole words.
PADDING = 8
_TWO_ENDS = b"\n\n"
_ENDS = re.compile(rb"\n++")
BOM = b"\xef\xbb\xbf"
#: Matches only at the first return of a run, so that the time is linear in the length of the run.
_RETURNS = re.compile(rb"(?<!\r)\r++\n")


def lines_in_blocks(
    stream: Readable, block_bytes: int = BLOCK_BYTES, padding: int = 0
) -> Iterator[bytes]:
    r"""Blocks of whole lines, each ending in ``\n``, of about ``block_bytes``.

    A byte-order mark at the start is removed. Windows line ends become ``\n``, and a last line
    without an end gets one. ``padding`` zero bytes follow each block.

    A line longer than ``LINE_BYTES`` is cut there and gets a NUL at its end. So it stays one line,
    and no later stage takes it for a row.

    Raises
    ------
    BeyondLimitError
        For more than ``EMPTY_LINES`` empty lines one behind another.
    """
    empty = _EmptyLines()
    rest: list[bytes | memoryview] = []
    behind = bytes(padding)
    first = True
    waiting = 0
    while pieces := _read_full(stream, block_bytes):
        if first:
            pieces[0] = b"".join(pieces).removeprefix(BOM)
            del pieces[1:]
            first = False
        kept = _cut(pieces)
        if kept is None:
            waiting += sum(map(len, pieces))
            rest = [_cut_short([*rest, *pieces])] if waiting > LINE_BYTES else rest + pieces
            continue
        if waiting > LINE_BYTES:
            pieces = [_from_line_end(pieces)]
        block = _unix(b"".join([*rest, *pieces, behind]))
        empty.count(block, len(block) - padding)
        yield block
        rest, waiting = kept, sum(map(len, kept))
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


def _read_full(stream: Readable, size: int) -> list[bytes | memoryview]:
    """Read ``size`` bytes, or all bytes before the end of the stream."""
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
