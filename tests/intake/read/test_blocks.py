from __future__ import annotations

import gzip
import io
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis import strategies as st
from isal import igzip_lib

from tracekit.intake.read import blocks as blocks_module
from tracekit.intake.read.blocks import BeyondLimitError, GunzipStream, lines_in_blocks

CASES = [
    ("nothing", b"", []),
    ("one line without an end", b"a,b", [b"a,b\n"]),
    ("two lines in one block", b"a\nb\n", [b"a\nb\n"]),
    ("Windows line ends", b"a\r\nb\r\n", [b"a\nb\n"]),
    ("Windows line ends of Windows line ends", b"a\r\r\r\nb\rc\r\r\n", [b"a\nb\rc\n"]),
    ("a byte-order mark", b"\xef\xbb\xbfa\n", [b"a\n"]),
    ("an empty line is a line", b"a\n\nb\n", [b"a\n\nb\n"]),
]


@pytest.mark.parametrize(("_name", "data", "blocks"), CASES)
def test_blocks(_name: str, data: bytes, blocks: list[bytes]) -> None:
    assert list(lines_in_blocks(io.BytesIO(data), 64)) == blocks


@given(
    st.lists(st.text(alphabet="ab,1.", max_size=20), max_size=20),
    st.integers(min_value=1, max_value=30),
)
def test_no_line_is_lost_or_cut_whatever_the_block_size(lines: list[str], size: int) -> None:
    data = "".join(line + "\n" for line in lines).encode()
    blocks = list(lines_in_blocks(io.BytesIO(data), size))
    assert b"".join(blocks) == data
    assert all(block.endswith(b"\n") for block in blocks)


class _Dribble(io.RawIOBase):
    """A reader that hands out one byte at a time, as a slow archive may."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def read(self, _size: int = -1, /) -> bytes:
        return self._data.read(1)


def test_short_reads_do_not_end_a_block() -> None:
    assert list(lines_in_blocks(_Dribble(b"abc\ndef\n"), 8)) == [b"abc\ndef\n"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("padding", [0, 8])
def test_a_long_run_of_empty_lines_is_refused_wherever_blocks_are_cut(
    monkeypatch: pytest.MonkeyPatch, size: int, padding: int
) -> None:
    monkeypatch.setattr(blocks_module, "EMPTY_LINES", 100)

    def read(data: bytes) -> bytes:
        cut = lines_in_blocks(io.BytesIO(data), size, padding)
        return b"".join(block[: len(block) - padding] for block in cut)

    ends = b"\n" * 100
    whole = b"a,b\n" + ends + b"c,d\n" + ends
    assert read(whole) == whole
    longer = b"a,b\n" + ends + b"c,d\n" + ends * 3
    with pytest.raises(BeyondLimitError):
        read(longer)
    with pytest.raises(BeyondLimitError):
        read(longer.replace(b"\n", b"\r\n"))


# A gzip stream of any number of members gives what Python's own reader gives.


pieces = some.lists(some.binary(max_size=3000), min_size=1, max_size=12)


def _whole(packed: bytes, size: int = 1 << 16) -> bytes:
    stream = GunzipStream(io.BytesIO(packed))
    return b"".join(iter(lambda: stream.read(size), b""))


@settings(deadline=None)
@given(pieces, some.integers(0, 5), some.integers(1, 4000))
def test_members_one_after_another(parts: list[bytes], padding: int, size: int) -> None:
    packed = (b"\0" * padding).join(map(gzip.compress, parts)) + b"\0" * padding
    assert _whole(packed, size) == gzip.decompress(packed) == b"".join(parts)


@pytest.mark.parametrize("content", [b"", b"1,2,3\n", b"x" * 5000])
def test_of_thousands_of_members_each_is_read(content: bytes) -> None:
    """Blocks of bgzip are members: there are more of them than Python's stack is deep."""
    packed = gzip.compress(b"first\n") + gzip.compress(content) * 5000 + gzip.compress(b"last\n")
    assert _whole(packed) == b"first\n" + content * 5000 + b"last\n"


@pytest.mark.parametrize("lost", [1, 4, 9, 15])
def test_a_last_member_that_is_cut_is_told(lost: int) -> None:
    packed = (gzip.compress(b"one\n") * 1200 + gzip.compress(b"two\n"))[:-lost]
    with pytest.raises(EOFError):
        _whole(packed)


def test_a_changed_byte_of_a_late_member_is_told() -> None:
    packed = bytearray(gzip.compress(b"one\n") * 1200)
    packed[-6] ^= 1
    with pytest.raises(cast("type[Exception]", igzip_lib.IsalError)):
        _whole(bytes(packed))
