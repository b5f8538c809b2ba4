"""A gzip stream of any number of members gives what Python's own reader gives."""

from __future__ import annotations

import gzip
import io
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from isal import igzip_lib

from tracekit.intake.read.blocks import GunzipStream

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
