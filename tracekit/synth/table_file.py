"""Writes one CSV file of the trace into a tar.gz, with planted broken lines among the good rows.

The header of a tar holds the size of the file, which is known at the end only. So the header is
written as a stored block of the gzip stream, whose length does not depend on its content, and is
overwritten when the archive is finished. No copy is made in memory or on the disk.
"""

import heapq
import io
import shutil
import struct
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl
from isal import isal_zlib

from tracekit.synth.layout import Action, Fault, FileShape, Layout, Planned, Row

LEVEL = 1
_MTIME = 1_591_923_600
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_RAW_DEFLATE = -15
_STORED = 0


class Archive:
    """The archive at ``path`` with the file ``name``.csv. It is complete after ``finish``.

    The archive's bytes do not depend on the machine or the time.
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
        """Append text to the CSV file."""
        self._pack(text)
        self._text_bytes += len(text)

    def _pack(self, data: bytes | memoryview) -> None:
        self._crc = isal_zlib.crc32(data, self._crc)
        self._file.write(self._deflate.compress(data))

    def close(self) -> None:
        """Close the file, finished or not."""
        self._file.close()

    def finish(self) -> None:
        """Write the end of the archive, and its header with the size."""
        self._pack(b"\0" * (-self._text_bytes % tarfile.BLOCKSIZE))
        size = self._text_bytes + (-self._text_bytes % tarfile.BLOCKSIZE)
        header = self._header()
        end = 2 * tarfile.BLOCKSIZE
        end += -(len(header) + size + end) % tarfile.RECORDSIZE
        self._pack(b"\0" * end)
        self._file.write(self._deflate.flush())
        rest = size + end
        crc = isal_zlib.crc32_combine(isal_zlib.crc32(header), self._crc, rest)
        self._file.write(struct.pack("<LL", crc, (len(header) + rest) & 0xFFFFFFFF))
        self._file.seek(len(_GZIP_HEADER))
        self._file.write(_stored(header))

    def _header(self) -> bytes:
        folder = _member(self._name, 0, tarfile.DIRTYPE, 0o755) if self._in_folder else b""
        prefix = f"{self._name}/" if self._in_folder else ""
        name = f"{prefix}{self._name}.csv"
        return folder + _member(name, self._text_bytes, tarfile.REGTYPE, 0o644)


def _stored(data: bytes) -> bytes:
    """A deflate block with uncompressed data; it is not the last block of its stream."""
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


#: The least and the largest distance in rows between a good row and its late repetition.
LATER_ROWS = (5, 400)


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A planted defect. Lines count from 1, which is the header."""

    source_file: str
    line: int
    table: str
    name: str
    action: Action
    entity_id: str | None


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """A written file with its planted defects; ``rows`` counts all lines but the header."""

    path: Path
    table: str
    member: str
    rows: int
    size_bytes: int
    defects: list[Defect]


@dataclass(order=True)
class _Event:
    """A fault to plant after row ``row``, or in its place where ``late`` is 0."""

    row: int
    late: int
    number: int
    fault: Fault = field(compare=False)
    good: Row | None = field(compare=False, default=None)


class TableFile:
    """A file of the trace. Its archive is complete when its ``with`` block ends without an error.

    Parameters
    ----------
    planned : sequence of Planned
        The faults to plant, in row order.
    """

    def __init__(
        self,
        path: Path,
        layout: Layout,
        shape: FileShape,
        *,
        planned: Sequence[Planned],
        rng: np.random.Generator,
    ) -> None:
        self.receipt: Receipt | None = None
        self._path = path / layout.folder / f"{shape.name}.tar.gz"
        self._layout, self._shape, self._rng = layout, shape, rng
        self._text = Archive(self._path, name=shape.name, in_folder=shape.in_folder)
        self._good_rows = 0
        self._lines = 0
        self._defects: list[Defect] = []
        self._events = [
            _Event(plan.row, 0 if plan.fault.where == "instead" else 1, at, plan.fault)
            for at, plan in enumerate(planned)
        ]
        self._next = len(self._events)
        heapq.heapify(self._events)

    def __enter__(self) -> Self:
        spelled = dict(self._shape.spellings)
        names = [spelled.get(name, name) for name in self._layout.columns]
        self._write_line(["", *names] if self._shape.indexed else names)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._plant_the_rest()
                self._text.finish()
        finally:
            self._text.close()
        if kind is None:
            self.receipt = self._receipt()

    def add(self, rows: pl.DataFrame, *, odd_rows: Mapping[int, str] | None = None) -> None:
        """Write good rows; ``odd_rows`` names the defects among them by position in ``rows``."""
        odd = sorted((odd_rows or {}).items())
        start, end = self._good_rows, self._good_rows + rows.height
        while self._events and self._events[0].row < end:
            event = heapq.heappop(self._events)
            upto = event.row + event.late
            odd = self._write_rows(rows, start, upto, odd)
            self._apply(event, rows.row(event.row - start, named=True) if not event.good else {})
        self._write_rows(rows, start, end, odd)

    def add_odd(self, row: Mapping[str, object], name: str, action: Action) -> None:
        """Write one row that is itself a defect."""
        frame = pl.DataFrame([row], schema=list(self._layout.columns))
        line = frame.write_csv(include_header=False, quote_style="never").rstrip("\n")
        self._plant(line.split(","), name, action, str(row[self._layout.entity]))

    def _write_rows(
        self, rows: pl.DataFrame, start: int, upto: int, odd: list[tuple[int, str]]
    ) -> list[tuple[int, str]]:
        """Write the next rows, up to number ``upto``; returns the odd rows after them."""
        offset, count = self._good_rows - start, upto - self._good_rows
        if count <= 0:
            return odd
        piece = rows.slice(offset, count)
        while odd and odd[0][0] < offset + count:
            at, name = odd.pop(0)
            entity = rows.item(at, self._layout.entity)
            self._note(self._lines + 1 + at - offset, name, "kept", entity)
        if self._shape.indexed:
            first = self._lines - 1
            piece = piece.insert_column(0, pl.Series("", np.arange(first, first + count)))
        buffer = io.BytesIO()
        piece.write_csv(buffer, include_header=False, quote_style="never")
        self._text.write(buffer.getbuffer())
        self._lines += count
        self._good_rows += count
        return odd

    def _apply(self, event: _Event, values: Mapping[str, object]) -> None:
        good = event.good or self._fields(values)
        if event.fault.where == "later" and event.good is None:
            self._next += 1
            row = event.row + int(self._rng.integers(*LATER_ROWS))
            heapq.heappush(self._events, _Event(row, 1, self._next, event.fault, good))
            return
        entity = good[self._layout.entity]
        line = event.fault.spoil(good, self._layout, self._rng)
        self._plant(line, event.fault.name, event.fault.action, entity)
        self._good_rows += event.late == 0

    def _fields(self, values: Mapping[str, object]) -> Row:
        """The printed fields of a good row, by column."""
        frame = pl.DataFrame([values])
        line = frame.write_csv(include_header=False, quote_style="never").rstrip("\n")
        return dict(zip(self._layout.columns, line.split(","), strict=True))

    def _plant(self, fields: Sequence[str], name: str, action: Action, entity: str) -> None:
        self._note(self._lines + 1, name, action, entity)
        self._write_line([str(self._lines - 1), *fields] if self._shape.indexed else fields)

    def _note(self, line: int, name: str, action: Action, entity: str | None) -> None:
        defect = Defect(
            source_file=f"{self._shape.name}.csv",
            line=line,
            table=self._layout.table,
            name=name,
            action=action,
            entity_id=entity,
        )
        self._defects.append(defect)

    def _write_line(self, fields: Sequence[str]) -> None:
        self._text.write((",".join(fields) + "\n").encode())
        self._lines += 1

    def _plant_the_rest(self) -> None:
        """Write the late repetitions that are due after the last row; drop all other faults."""
        while self._events:
            event = heapq.heappop(self._events)
            if event.good is not None:
                self._apply(event, {})

    def _receipt(self) -> Receipt:
        return Receipt(
            path=self._path,
            table=self._layout.table,
            member=f"{self._shape.name}.csv",
            rows=self._lines - 1,
            size_bytes=self._path.stat().st_size,
            defects=self._defects,
        )
