"""Checksums of written files: what was written is what stands there still.

CRC-32 and length, as for the content of trace files: no flipped bit escapes a CRC, and the
processor computes it at several times the speed of any disk.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from isal.isal_zlib import crc32

from tracekit.base.files.places import open_whole

_BLOCK_BYTES = 1 << 20
#: Kinds of damage, and how each reads; ``found`` and ``written`` are numbers of bytes.
KINDS = {
    "gone": "it is gone",
    "empty": "it is empty, {written:,} bytes were written",
    "cut": "it ends after {found:,} of {written:,} bytes",
    "longer": "it has {found:,} bytes, {written:,} were written",
    "changed": "it holds other bytes than were written",
    "unreadable": "it cannot be read: {why}",
    "stands apart": "it is not what the manifest says",
}


@dataclass(frozen=True, kw_only=True)
class Damage:
    """A file that is not what was written.

    Attributes
    ----------
    path : relative to its folder
    kind : of ``KINDS``
    found : the kind in words, with its numbers
    source_file : the trace file to ingest again; None where any ingest mends it, or none does
    """

    path: str
    kind: str
    found: str
    source_file: str | None = None


def checksum(path: Path) -> str:
    """The checksum of a file: ``crc32:<8 hex digits>:<bytes>``."""
    crc, size = 0, 0
    block = memoryview(bytearray(_BLOCK_BYTES))
    with open_whole(path) as file:
        while read := file.readinto(block):
            crc, size = crc32(block[:read], crc), size + read
    return f"crc32:{crc:08x}:{size}"


def damaged(
    folder: Path, checksums: Mapping[str, str], source_file: str | None = None
) -> Iterator[Damage]:
    """The files, by their paths in the folder, that are gone or changed; all of them are read."""
    for path, wanted in checksums.items():
        written = int(wanted.rpartition(":")[2])
        try:
            now = checksum(folder / path)
        except FileNotFoundError:
            yield as_damage(path, "gone", source_file)
            continue
        except OSError as error:
            yield as_damage(path, "unreadable", source_file, why=error.strerror or str(error))
            continue
        found = int(now.rpartition(":")[2])
        if now != wanted:
            short = "empty" if found == 0 else "cut"
            kind = "changed" if found == written else short if found < written else "longer"
            yield as_damage(path, kind, source_file, found=found, written=written)


def as_damage(path: str, kind: str, source_file: str | None = None, **told: object) -> Damage:
    """A damage of a kind, with what its words need."""
    found = KINDS[kind].format(**told)
    return Damage(path=path, kind=kind, found=found, source_file=source_file)
