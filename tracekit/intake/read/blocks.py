"""Cuts a byte stream into blocks of whole lines."""

import re
from collections.abc import Iterator

from tracekit.intake.read.gunzip import Readable
from tracekit.intake.read.lines import EMPTY_LINES, LINE_BYTES, BeyondLimitError

BLOCK_BYTES = 1 << 20
#: Bytes behind a block, so that the compiled walk may read whole words.
PADDING = 8
_TWO_ENDS = b"\n\n"
_ENDS = re.compile(rb"\n++")
BOM = b"\xef\xbb\xbf"
#: Looked for from the first return of a run alone, so that a long run costs its length.
_RETURNS = re.compile(rb"(?<!\r)\r++\n")


def lines_in_blocks(
    stream: Readable, block_bytes: int = BLOCK_BYTES, padding: int = 0
) -> Iterator[bytes]:
    r"""Blocks of whole lines, each ending in ``\n``, of about ``block_bytes``.

    A byte-order mark at the start is taken off, Windows line ends become ``\n``, and a last line
    without an end gets one, so that later stages know one kind of line only. Behind each block
    stand ``padding`` zero bytes.

    Of a line longer than ``LINE_BYTES`` only so much is given, and a NUL behind it: it stays one
    line, and no stage can take it for a row.

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
    """Counts the empty lines at the end of what was read so far."""

    def __init__(self) -> None:
        self._bytes = 0
        self._run = 0

    def count(self, block: bytes, size: int) -> None:
        """Go on with a block of whole lines, of this size without the padding behind."""
        leading = _ENDS.match(block)
        found = len(leading[0]) if leading else 0
        if self._run + found > EMPTY_LINES:
            raise BeyondLimitError(
                f"has more than {EMPTY_LINES:,} empty lines one behind another, from byte"
                f" {self._bytes - self._run:,} of its text on"
            )
        if found == size:
            self._run += size
        elif block.endswith(_TWO_ENDS, 0, size):
            self._run = size - len(block[:size].rstrip(b"\n")) - 1
        else:
            self._run = 0
        self._bytes += size


def _cut(pieces: list[bytes | memoryview]) -> list[bytes | memoryview] | None:
    """Take what follows the last line end off the pieces; None when there is no line end."""
    for at in range(len(pieces) - 1, -1, -1):
        piece = pieces[at]
        end = bytes(piece).rfind(b"\n") + 1
        if end:
            after: list[bytes | memoryview] = [memoryview(piece)[end:], *pieces[at + 1 :]]
            pieces[at:] = [memoryview(piece)[:end]]
            return after
    return None


def _cut_short(line: list[bytes | memoryview]) -> bytes:
    """The beginning of a line that is too long for any row."""
    return b"".join(line)[:LINE_BYTES] + b"\0"


def _from_line_end(pieces: list[bytes | memoryview]) -> bytes:
    """The pieces after a line that was cut short, from its end on."""
    whole = b"".join(pieces)
    return whole[whole.index(b"\n") :]


def _read_full(stream: Readable, size: int) -> list[bytes | memoryview]:
    """Read ``size`` bytes unless the stream ends: archive readers hand out less at a time."""
    parts: list[bytes | memoryview] = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return parts


def _unix(block: bytes) -> bytes:
    if b"\r" not in block:
        return block
    block = block.replace(b"\r\n", b"\n")
    # converted to Windows' line ends more than once
    return _RETURNS.sub(b"\n", block) if b"\r\n" in block else block
