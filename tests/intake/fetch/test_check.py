from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest
from fetch_support import archive_bytes

from tracekit.intake.fetch.download import DamagedError, checked

WHOLE = archive_bytes(50_000)
GOOD = {
    "one member": WHOLE,
    "two members": WHOLE + archive_bytes(10, seed=1),
    "zeros behind": WHOLE + b"\0" * 700,
    "zeros between": WHOLE + b"\0" * 5 + archive_bytes(10, seed=1),
    "nothing in it": gzip.compress(b"", mtime=0),
}


def flipped(at: int) -> bytes:
    data = bytearray(WHOLE)
    data[at] ^= 0x55
    return bytes(data)


BAD = {
    "cut in the middle": WHOLE[:20_000],
    "cut by one byte": WHOLE[:-1],
    "cut in the header": WHOLE[:5],
    "half a magic": WHOLE[:1],
    "wrong checksum": flipped(-8),
    "wrong length": flipped(-1),
    "wrong block": flipped(25_000),
    "an error page": b"<html>404</html>",
    "empty": b"",
    "only zeros": b"\0" * 100,
    "text behind": WHOLE + b"\0\0Node",
    "half a second member": WHOLE + WHOLE[:100],
}


@pytest.mark.parametrize("name", GOOD)
def test_whole_archives_have_a_sha256(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(GOOD[name])
    assert checked(tmp_path / "a.gz", "a.gz") == hashlib.sha256(GOOD[name]).hexdigest()


@pytest.mark.parametrize("name", BAD)
def test_others_are_damaged_and_named(name: str, tmp_path: Path) -> None:
    data = BAD[name]
    (tmp_path / "a.gz").write_bytes(data)
    with pytest.raises(DamagedError) as caught:
        checked(tmp_path / "a.gz", "here/a.gz")
    assert caught.value.sha256 == hashlib.sha256(data).hexdigest()
