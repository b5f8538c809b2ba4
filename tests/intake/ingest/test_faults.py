"""Files as they come from bad disks, bad lines and bad programs, through the whole of ingest."""

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

import numpy as np
import polars as pl
import pytest
from cluster_support import written
from store_support import tree
from tests_support import (
    NODE_HEADER,
    RESOURCE_HEADER,
    TraceFolder,
    csv_text,
    hex_id,
    node_lines,
    random_node_text,
    resource_lines,
    tar_gz,
)

from tracekit.base.errors import CheckFailedError, TracekitError
from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.staged import RejectsWriter
from tracekit.intake.read.blocks import HEADER_BYTES, LINE_BYTES, MEMBERS, lines_in_blocks
from tracekit.intake.read.parse import REJECTS_SCHEMA
from tracekit.store.folder import open_store
from tracekit.store.query import Database

NODE = hex_id("node", 0)
BIG_TEXT = random_node_text(60_000)


def stored(store: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The node rows of a store in their order, and its rejects."""
    with Database(open_store(store)) as database:
        rows = "SELECT time_ms, node, cpu_fraction, memory_fraction FROM node_usage ORDER BY ALL"
        return database.frame(rows), database.frame("SELECT * FROM reject ORDER BY line")


def with_store(tmp_path: Path, traces: TraceFolder) -> tuple[Path, dict[str, str]]:
    """A store that holds something already, and its bytes."""
    ingest(traces.path, tmp_path / "store")
    return tmp_path / "store", tree(tmp_path / "store")


@pytest.fixture(scope="module")
def big_archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("big") / "Node_9.tar.gz"
    tar_gz(path, {"Node_9.csv": BIG_TEXT})
    return path.read_bytes()


@pytest.mark.slow
def test_a_corrupt_block_in_the_middle_never_goes_in(
    tmp_path: Path, traces: TraceFolder, big_archive: bytes
) -> None:
    store, before = with_store(tmp_path, traces)
    rng = np.random.default_rng(0)
    bad = tmp_path / "Node_9.tar.gz"
    for at in sorted(rng.integers(20, len(big_archive), size=8).tolist()):
        data = bytearray(big_archive)
        data[at : at + 40] = rng.bytes(len(data[at : at + 40]))
        bad.write_bytes(data)
        with pytest.raises(TracekitError):
            ingest(bad, store)
        assert tree(store) == before
    bad.write_bytes(big_archive)
    assert ingest(bad, store).ingested[0].rows == 60_000


def test_the_archive_holds_another_table_than_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "Node_0.tar.gz"
    tar_gz(path, {"Node_0.csv": csv_text(RESOURCE_HEADER, resource_lines())})
    (entry,) = ingest(path, tmp_path / "store").ingested
    assert (entry.table, entry.rows) == ("container_usage", len(resource_lines()))


LONG = "9" * 10_000_000
#: Lines that are too long, and the column that is blamed.
BROKEN_LINES = [
    (f"30000,{NODE[:20]}\0{NODE[21:]},0.5,0.5", None),
    (f"30000,{NODE},{LONG},0.5", None),
    (f"30000,{NODE},0.5,0.{'0' * 4_000_000}", None),
    (LONG, None),
    ("9" * 1_000_000, None),
    (f"1e400,{NODE},0.5,0.5", "time_ms"),
]


@pytest.mark.parametrize(
    ("line", "column"), BROKEN_LINES, ids=[str(n) for n in range(len(BROKEN_LINES))]
)
def test_a_broken_line_costs_itself_only(tmp_path: Path, line: str, column: str | None) -> None:
    path = tmp_path / "Node_0.csv"
    good = node_lines(3, 40)
    path.write_text(csv_text(NODE_HEADER, [*good[:50], line, *good[50:]]))
    (entry,) = ingest(path, tmp_path / "store").ingested
    rows, rejects = stored(tmp_path / "store")
    assert (entry.rows_read, entry.rows, entry.rejected) == (121, 120, 1)
    assert rows.height == 120
    (reject,) = rejects.rows(named=True)
    assert (reject["source_file"], reject["line"], reject["column"]) == ("Node_0.csv", 52, column)
    assert len(reject["reason"]) + len(reject["text"]) < 1000


def windows(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def marked(text: str) -> bytes:
    return b"\xef\xbb\xbf" + text.encode()


def without_last_end(text: str) -> bytes:
    return text.rstrip("\n").encode()


@pytest.mark.parametrize(
    "spell",
    [windows, marked, without_last_end, lambda text: b"\xef\xbb\xbf" + windows(text)],
    ids=["CRLF", "BOM", "no last line end", "BOM and CRLF"],
)
def test_other_programs_line_ends_and_marks_change_nothing(
    tmp_path: Path, spell: Callable[[str], bytes]
) -> None:
    text = csv_text(NODE_HEADER, [*node_lines(), f"0,{NODE},x,0.5"])
    for name, data in (("plain", text.encode()), ("other", spell(text))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Node_0.csv").write_bytes(data)
        ingest(tmp_path / name, tmp_path / f"{name} store")
    plain, other = (tree(tmp_path / f"{name} store") for name in ("plain", "other"))
    assert plain.keys() == other.keys()
    tables = [name for name in plain if name.split("/")[0] in {"tables", "dimensions", "rejects"}]
    assert len(tables) >= 3
    assert [plain[name] for name in tables] == [other[name] for name in tables]


@pytest.mark.parametrize(("every", "share"), [(100, 0.01), (1, 1.0)])
def test_many_broken_rows(tmp_path: Path, every: int, share: float) -> None:
    good = node_lines(10, 100)
    lines = [line if at % every else line.replace("0.", "O.") for at, line in enumerate(good)]
    path = tmp_path / "Node_0.csv"
    path.write_text(csv_text(NODE_HEADER, lines))
    with pytest.raises(CheckFailedError):
        ingest(path, tmp_path / "store", max_rejects_fraction=share - 0.001)
    assert not (tmp_path / "store").exists()
    (entry,) = ingest(path, tmp_path / "store", max_rejects_fraction=share).ingested
    assert (entry.rows_read, entry.rejected) == (1000, round(1000 * share))
    rows, rejects = stored(tmp_path / "store")
    assert rows.height == 1000 - round(1000 * share)
    assert rejects["line"].to_list() == [at + 2 for at in range(1000) if at % every == 0]


# Shares of broken rows are of lines of the file, however many rows a good line gives.

FILES = {
    "nodes.csv": ["node,cpu_milli,memory_bytes", "n1,8000,17179869184", "n2,nan,17179869184"],
    "containers.csv": [
        "container,service,node,arrival_ms,cpu_milli,memory_bytes",
        "a,s,n1,0,1000,1073741824",
    ],
    "usage.csv": [
        "container,time_ms,cpu_milli,memory_bytes,net_kbit_per_s,disk_bytes",
        *(f"{one},{at * 60_000},500,5e8,10,1e6" for one in ("a", "zz") for at in range(10)),
    ],
}


def test_the_limit_on_broken_rows_is_on_lines(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", {**FILES, "nodes.csv": FILES["nodes.csv"][:2]})
    with pytest.raises(CheckFailedError):
        ingest(folder, tmp_path / "refused", max_rejects_fraction=0.49)
    assert not ingest(folder, tmp_path / "store", max_rejects_fraction=0.5).failed


# Kinds of broken rows, as the ledger names them.


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("is 'E', expected a VM of vmtable", "unknown_name"),
        ("is 'n9', which no file describes", "unknown_name"),
        ("is 'zz', expected a container of the files beside", "unknown_name"),
        ("is 'x', expected a number", "unparsable_value"),
        ("is empty, expected a value", "empty_value"),
        ("is -1, expected at least 0", "out_of_range"),
        ("is cut off: the file ends before the line does", "malformed_row"),
        ("is cut off: the file ends before the value does", "unreadable_document"),
        ("is no JSON: expected { or [", "unreadable_document"),
        ("is an error of the watch (too old): what changed", "watch_error"),
        ("is of an answer that came with a warning: at least 1 store", "partial_answer"),
    ],
)
def test_a_broken_row_is_of_a_kind(tmp_path: Path, reason: str, kind: str) -> None:
    rejects = RejectsWriter(tmp_path / "rejects.parquet", "file.csv")
    row = {"line": 1, "column": "vm", "reason": reason, "text": ""}
    rejects.append(pl.DataFrame([row], schema=REJECTS_SCHEMA))
    rejects.close()
    assert [one.defect for one in rejects.defects()] == [kind]


# Bombs: small files that unpack to much. Each is refused or rejected in little memory.

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
    outcome, *_, peak_kib = done.stdout.splitlines()
    if isinstance(expected, str):
        assert outcome.startswith(name)
        assert expected in outcome
    else:
        assert tuple(map(int, outcome.split())) == expected
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
