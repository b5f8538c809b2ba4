from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.intake.read import blocks as blocks_module
from tracekit.intake.read.blocks import BeyondLimitError, lines_in_blocks

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
        found = lines_in_blocks(io.BytesIO(data), size, padding)
        return b"".join(block[: len(block) - padding] for block in found)

    ends = b"\n" * 100
    whole = b"a,b\n" + ends + b"c,d\n" + ends
    assert read(whole) == whole
    longer = b"a,b\n" + ends + b"c,d\n" + ends * 3
    with pytest.raises(BeyondLimitError):
        read(longer)
    with pytest.raises(BeyondLimitError):
        read(longer.replace(b"\n", b"\r\n"))
