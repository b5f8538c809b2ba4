"""Cuts a byte stream into blocks of whole lines."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.ingest.gunzip import Readable

BLOCK_BYTES = 8 << 20
_BOM = b"\xef\xbb\xbf"


def lines_in_blocks(stream: Readable, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    r"""Blocks of whole lines, each ending in ``\n``, of about ``block_bytes``.

    A byte-order mark at the start is taken off, Windows line ends become ``\n``, and a last line
    without an end gets one, so that later stages know one kind of line only.
    """
    rest = b""
    first = True
    while chunk := _read_full(stream, block_bytes):
        if first:
            chunk = chunk.removeprefix(_BOM)
            first = False
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            rest += chunk
            continue
        yield _unix(rest + chunk[:cut])
        rest = chunk[cut:]
    if rest:
        yield _unix(rest + b"\n")


def _read_full(stream: Readable, size: int) -> bytes:
    """Read ``size`` bytes unless the stream ends: archive readers hand out less at a time."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _unix(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n") if b"\r" in block else block
