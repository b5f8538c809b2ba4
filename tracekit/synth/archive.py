"""Writing one CSV into one tar.gz as it grows, the same bytes every time.

A tar header holds the size of what follows, which is known at the end only. So the header is
written as a stored block of the gzip stream, whose length does not depend on what it says, and
filled in when the archive is closed. Nothing is kept aside, in memory or on the disk.
"""

import shutil
import struct
import tarfile
from pathlib import Path

from isal import isal_zlib

_POLYNOMIAL = 0xEDB88320
_ONE = 1 << 31


def combined(first: int, second: int, second_bytes: int) -> int:
    """CRC-32 of a text of CRC ``first`` followed by one of ``second_bytes`` and CRC ``second``.

    A CRC is a polynomial over GF(2); what follows a text multiplies it by x to the number of bits.
    """
    return _times(_power_of_x(8 * second_bytes), first) ^ second


def _times(a: int, b: int) -> int:
    """The product of two polynomials modulo that of CRC-32, bits in reverse order."""
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def _power_of_x(exponent: int) -> int:
    power, square = _ONE, _ONE >> 1
    while exponent:
        if exponent & 1:
            power = _times(power, square)
        square = _times(square, square)
        exponent >>= 1
    return power


LEVEL = 1
_MTIME = 1_591_923_600
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_RAW_DEFLATE = -15
_STORED = 0


class Archive:
    """The archive at ``path``, holding ``name``.csv; whole once it is finished.

    Nothing in it depends on the machine or the moment.
    """

    def __init__(self, path: Path, *, name: str, in_folder: bool) -> None:
        self._name, self._in_folder = name, in_folder
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb")
        self._deflate = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, _RAW_DEFLATE)
        self._crc = 0
        self._text_bytes = 0
        self._file.write(_GZIP_HEADER + _stored(self._header()))

    def write(self, text: bytes | memoryview) -> None:
        """Add to the CSV."""
        self._pack(text)
        self._text_bytes += len(text)

    def _pack(self, data: bytes | memoryview) -> None:
        self._crc = isal_zlib.crc32(data, self._crc)
        self._file.write(self._deflate.compress(data))

    def close(self) -> None:
        """Let go of the file, finished or not."""
        self._file.close()

    def finish(self) -> None:
        """Write the end, and in the header what is known now."""
        self._pack(b"\0" * (-self._text_bytes % tarfile.BLOCKSIZE))
        size = self._text_bytes + (-self._text_bytes % tarfile.BLOCKSIZE)
        header = self._header()
        end = 2 * tarfile.BLOCKSIZE
        end += -(len(header) + size + end) % tarfile.RECORDSIZE
        self._pack(b"\0" * end)
        self._file.write(self._deflate.flush())
        rest = size + end
        crc = combined(isal_zlib.crc32(header), self._crc, rest)
        self._file.write(struct.pack("<LL", crc, (len(header) + rest) & 0xFFFFFFFF))
        self._file.seek(len(_GZIP_HEADER))
        self._file.write(_stored(header))

    def _header(self) -> bytes:
        folder = _member(self._name, 0, tarfile.DIRTYPE, 0o755) if self._in_folder else b""
        prefix = f"{self._name}/" if self._in_folder else ""
        name = f"{prefix}{self._name}.csv"
        return folder + _member(name, self._text_bytes, tarfile.REGTYPE, 0o644)


def _stored(data: bytes) -> bytes:
    """A deflate block that holds data as it is, not the last block of its stream."""
    return struct.pack("<BHH", _STORED, len(data), len(data) ^ 0xFFFF) + data


def _member(name: str, size_bytes: int, kind: bytes, mode: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.mode, info.mtime = size_bytes, kind, mode, _MTIME
    return info.tobuf(tarfile.USTAR_FORMAT)


def empty_folder(path: Path) -> None:
    """Make ``path`` an empty folder."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
