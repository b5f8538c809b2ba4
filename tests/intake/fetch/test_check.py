from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest
from fetch_support import archive_bytes

from tracekit.intake.fetch import check
from tracekit.intake.fetch.check import DamagedError, checked

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
    "cut in the middle": (WHOLE[:20_000], "is truncated"),
    "cut by one byte": (WHOLE[:-1], "is truncated"),
    "cut in the header": (WHOLE[:5], "is truncated"),
    "half a magic": (WHOLE[:1], "is no gzip archive"),
    "wrong checksum": (flipped(-8), "is corrupt"),
    "wrong length": (flipped(-1), "is corrupt"),
    "wrong block": (flipped(25_000), "is corrupt"),
    "an error page": (b"<html>404</html>", "is no gzip archive; it starts with b'<html>404</h'"),
    "empty": (b"", "is no gzip archive, it is empty"),
    "only zeros": (b"\0" * 100, "is no gzip archive"),
    "text behind": (WHOLE + b"\0\0Node", "is corrupt: something else follows the archive"),
    "half a second member": (WHOLE + WHOLE[:100], "is truncated"),
}


@pytest.mark.parametrize("chunk", [1 << 20, 777])
@pytest.mark.parametrize("name", GOOD)
def test_whole_archives_have_a_sha256(
    name: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "_CHUNK_BYTES", chunk)
    (tmp_path / "a.gz").write_bytes(GOOD[name])
    assert checked(tmp_path / "a.gz", "a.gz") == hashlib.sha256(GOOD[name]).hexdigest()


@pytest.mark.parametrize("chunk", [1 << 20, 777])
@pytest.mark.parametrize("name", BAD)
def test_others_are_damaged_and_named(
    name: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "_CHUNK_BYTES", chunk)
    data, what = BAD[name]
    (tmp_path / "a.gz").write_bytes(data)
    with pytest.raises(DamagedError) as caught:
        checked(tmp_path / "a.gz", "here/a.gz")
    assert caught.value.what.startswith(f"here/a.gz {what}")
    assert caught.value.sha256 == hashlib.sha256(data).hexdigest()
