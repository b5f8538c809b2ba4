"""Bombs: small files that unpack to much. Each is refused or rejected in little memory."""

from __future__ import annotations

import gzip
import io
import resource
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests_support import NODE_HEADER, csv_text, node_lines

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.intake.read.blocks import HEADER_BYTES, LINE_BYTES, MEMBERS, lines_in_blocks

GOOD = csv_text(NODE_HEADER, node_lines()).encode()
#: What a bomb unpacks to; a reader that collects it would pass the limit below.
_BOMB_BYTES = 1 << 30
_ZEROS = bytes(1 << 20)
#: The most that an ingest may take, with the code of the compiled reader; it came to 580 to 620 MiB
#: for a bomb of empty lines, and a reader that collected a bomb would be beyond a GiB.
_MOST_KIB = 720 << 10


def packed(parts: Iterator[bytes]) -> bytes:
    """A gzip of the parts, made without ever holding them together."""
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([*(squeeze.compress(part) for part in parts), squeeze.flush()])


def zeros() -> Iterator[bytes]:
    """As many zero bytes as a bomb has."""
    for _ in range(_BOMB_BYTES // len(_ZEROS)):
        yield _ZEROS


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A tar header."""
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def whole(name: str, data: bytes) -> bytes:
    """A tar header with its file behind it."""
    return header(name, len(data)) + data + bytes(-len(data) % 512)


def alone() -> Iterator[bytes]:
    yield from zeros()


def behind_good_rows() -> Iterator[bytes]:
    yield GOOD
    yield from zeros()


def in_the_same_member() -> Iterator[bytes]:
    yield header("Node_0.csv", len(GOOD) + _BOMB_BYTES) + GOOD
    yield from zeros()
    yield bytes(-len(GOOD) % 512 + 1024)


def in_another_member() -> Iterator[bytes]:
    yield whole("Node_0.csv", GOOD) + header("other.bin", _BOMB_BYTES)
    yield from zeros()
    yield bytes(1024)


def extended_header() -> Iterator[bytes]:
    yield header("pax", _BOMB_BYTES, tarfile.XHDTYPE)
    yield from zeros()
    yield whole("Node_0.csv", GOOD) + bytes(1024)


def blank_lines() -> Iterator[bytes]:
    yield GOOD
    yield b"\n" * (3 << 20)


def more_blank_lines() -> Iterator[bytes]:
    yield GOOD
    for _ in range(134):
        yield b"\n" * (1 << 20)


#: Each bomb; what its ingest says, or the rows that are read, stored and rejected.
BOMBS: dict[str, tuple[Callable[[], Iterator[bytes]], str | tuple[int, int, int]]] = {
    "alone.csv.gz": (alone, "not a table of a known trace"),
    "behind.csv.gz": (behind_good_rows, (37, 36, 1)),
    "same.tar.gz": (in_the_same_member, (37, 36, 1)),
    "another.tar.gz": (in_another_member, (36, 36, 0)),
    "extended.tar.gz": (extended_header, f"extended header of {_BOMB_BYTES:,} bytes"),
    "blank.csv.gz": (blank_lines, (36 + (3 << 20), 36, 3 << 20)),
    "blanks.csv.gz": (more_blank_lines, f"from byte {len(GOOD):,} of its text on"),
}

#: The peak is that of the program itself: ``ru_maxrss`` has that of the process it was forked from.
_INGEST = """
import sys
from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
try:
    (entry,) = ingest(sys.argv[1], sys.argv[2], jobs=1).ingested
    print(entry.rows_read, entry.rows, entry.rejected)
except TracekitError as error:
    print(error.what)
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM:")))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little_memory(name: str, tmp_path: Path) -> None:
    make, expected = BOMBS[name]
    (tmp_path / name).write_bytes(packed(make()))
    done = subprocess.run(
        [sys.executable, "-c", _INGEST, str(tmp_path / name), str(tmp_path / "store")],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)),
    )
    said, *_, peak_kib = done.stdout.splitlines()
    if isinstance(expected, str):
        assert said.startswith(name)
        assert expected in said
    else:
        assert tuple(map(int, said.split())) == expected
    assert int(peak_kib) < _MOST_KIB


@pytest.mark.slow
def test_an_archive_of_too_many_files(tmp_path: Path) -> None:
    path = tmp_path / "many.tar.gz"
    headers = b"".join(header(f"{at}", 0) for at in range(2 * MEMBERS + 1))
    path.write_bytes(gzip.compress(headers + bytes(1024), 1))
    with pytest.raises(TracekitError):
        ingest(path, tmp_path / "store")


def test_an_extended_header_of_usual_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "Node_0.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("Node_0.csv")
        info.size, info.pax_headers = len(GOOD), {"comment": "x" * (HEADER_BYTES // 2)}
        archive.addfile(info, io.BytesIO(GOOD))
    (entry,) = ingest(path, tmp_path / "store").ingested
    assert entry.rows == 36


@pytest.mark.parametrize("length", [LINE_BYTES - 1, LINE_BYTES * 3, LINE_BYTES * 3 + 17])
@pytest.mark.parametrize("after", [b"", b"\n", b"\nnext\n", b"\nnext"])
def test_a_long_line_stays_one_line(length: int, after: bytes) -> None:
    text = b"first\n" + b"x" * length + after
    lines = b"".join(lines_in_blocks(io.BytesIO(text))).split(b"\n")
    expected = text.removesuffix(b"\n").split(b"\n")
    assert len(lines) == len(expected) + 1
    assert lines[0] == b"first"
    assert lines[-2] == expected[-1] or length > LINE_BYTES
    cut = lines[1].endswith(b"\0")
    assert cut == (length > LINE_BYTES)
    assert len(lines[1]) <= 2 * LINE_BYTES
