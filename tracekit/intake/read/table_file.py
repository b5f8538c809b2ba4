"""Streams one trace file as clean blocks of a base table."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeVar

from tracekit.base.errors import TracekitError
from tracekit.base.files.ahead import Pieces, ahead
from tracekit.base.files.places import open_whole
from tracekit.base.kept import is_compiled
from tracekit.intake.read.arrow_rows import layout_of, parquet_blocks, table_of, unpivot
from tracekit.intake.read.blocks import BLOCK_BYTES, PADDING, lines_in_blocks
from tracekit.intake.read.coded import CodedRows, Keys, PlainKeys, code
from tracekit.intake.read.discover import TraceFile
from tracekit.intake.read.members import (
    ContentReader,
    HashingReader,
    Member,
    damaged_as_error,
    members,
)
from tracekit.intake.read.parse import parse_block
from tracekit.intake.read.plan import key_kinds, make_plan
from tracekit.intake.read.validate import CleanBlock, Counts, validate
from tracekit.intake.sources import Match, recognise

#: What is worth loading, and on a new machine compiling, the quick way: a file of this size, or one
#: of some size among files of so much together; of less where the code is compiled already. To load
#: it costs as much as some 5 MiB the plain way, to compile it as much as 60.
COMPILED_FROM_BYTES = 16 << 20
_SOME_BYTES = 256 << 10
_TOGETHER_BYTES, _TOGETHER_COMPILED_BYTES = 64 << 20, 8 << 20
#: What is unpacked while numba loads.
_BLOCKS_AHEAD = 8

#: Turns blocks of whole lines, and the number of the first line, into rows.
T = TypeVar("T")
BlocksReader = Callable[[Iterator[bytes], int], Iterator[T]]


@dataclass
class Reading:
    """What is known of a file once its blocks are consumed.

    ``content`` identifies what was read whatever the packing: CRC-32 and length of the CSV text.
    """

    sha256: str = ""
    content: str = ""
    counts: Counts = field(default_factory=Counts)
    members_passed_over: list[str] = field(default_factory=list)


def read_file(
    file: TraceFile, reading: Reading, on_read: Callable[[int], None] | None = None
) -> Iterator[CleanBlock]:
    """The clean blocks of a trace file; fills ``reading`` when the last one is consumed.

    Raises TracekitError when the file turns out truncated or corrupt; what was yielded before
    that must then be thrown away.
    """

    def reader(match: Match) -> BlocksReader[CleanBlock]:
        return partial(_clean_blocks, match, reading.counts)

    with _reading(file, reading, on_read) as raw:
        if file.kind == "parquet":
            yield from parquet_blocks(file, reading.counts)
        else:
            yield from _csv_blocks(file, raw, reading, reader)


@dataclass
class CodedFile:
    """A trace file as coded rows; ``keys`` knows the names once they are all consumed."""

    file: TraceFile
    reading: Reading
    padding: int

    @cached_property
    def keys(self) -> Keys:
        """Made when the first names are due: numba loads while the first blocks are unpacked."""
        kinds = len(key_kinds(table_of(self.file.match)))
        if not self.padding:
            return PlainKeys(kinds)
        with nothing_collected():
            from tracekit.intake.read.scanner import HashKeys  # noqa: PLC0415 - numba takes its time

            return HashKeys(kinds, tuple(sorted(self.file.match.source.missing_names | {""})))

    def blocks(self, on_read: Callable[[int], None] | None = None) -> Iterator[CodedRows]:
        """The rows of the base table; raises as ``read_file`` does."""
        with _reading(self.file, self.reading, on_read) as raw:
            if self.file.kind == "parquet":
                table = layout_of(self.file.match).table
                for clean in parquet_blocks(self.file, self.reading.counts):
                    yield unpivot(code(clean, table, self.keys), self.file.match, self.keys)
            else:
                for rows in _csv_blocks(self.file, raw, self.reading, self._reader, self.padding):
                    yield unpivot(rows, self.file.match, self.keys)

    def _reader(self, match: Match) -> BlocksReader[CodedRows]:
        counts, table = self.reading.counts, layout_of(match).table
        if self.padding:
            return _scanner(match, self.keys, counts)

        def coded(blocks: Iterator[bytes], first_line: int) -> Iterator[CodedRows]:
            for clean in _clean_blocks(match, counts, blocks, first_line):
                yield code(clean, table, self.keys)

        return coded


def open_coded(file: TraceFile) -> CodedFile:
    """The file, to be read the compiled way if that pays."""
    enough = _TOGETHER_COMPILED_BYTES if is_compiled("scan.py") else _TOGETHER_BYTES
    together = file.together_bytes >= enough
    least = min(_SOME_BYTES, COMPILED_FROM_BYTES) if together else COMPILED_FROM_BYTES
    plain = file.kind == "parquet" or file.size_bytes < least
    return CodedFile(file, Reading(), 0 if plain else PADDING)


def _scanner(match: Match, keys: Keys, counts: Counts) -> BlocksReader[CodedRows]:
    from tracekit.intake.read.scanner import (  # noqa: PLC0415 - as in open_coded
        HashKeys,
        Scanner,
    )

    assert isinstance(keys, HashKeys)  # noqa: S101 - open_coded gives no other with padding
    layout = layout_of(match)
    plan = make_plan(layout.table, layout.positions, len(match.header), match.source.missing_names)
    return Scanner(plan, keys, counts, lambda lines, at: _clean(lines, match, at, counts)).rows


@contextmanager
def _reading(
    file: TraceFile, reading: Reading, on_read: Callable[[int], None] | None
) -> Iterator[HashingReader]:
    """The opened file; at the end ``reading`` knows what was read."""
    with open_whole(file.path) as handle:
        raw = HashingReader(handle, on_read)
        with damaged_as_error(file.path):
            yield raw
        reading.sha256 = raw.finish()
    reading.content = reading.content or f"sha256:{reading.sha256}"


def _csv_blocks(
    file: TraceFile,
    raw: HashingReader,
    reading: Reading,
    reader: Callable[[Match], BlocksReader[T]],
    padding: int = 0,
) -> Iterator[T]:
    for member in members(file.path, file.kind, raw):
        # unpacking is the longest work of all: nothing else is done in its thread
        pieces = ahead(iter(partial(member.stream.read, BLOCK_BYTES), b""))
        content = ContentReader(Pieces(pieces))
        blocks = ahead(lines_in_blocks(content, padding=padding), _BLOCKS_AHEAD)
        header, body = _split_header(next(blocks, b""))
        match = recognise(header, release=file.match.source.name)
        if not isinstance(match, Match) or match.format is not file.match.format:
            blocks.close()
            pieces.close()
            _other_member(file, member, header, reading)
            continue
        yield from reader(match)(_chain(body, blocks), 2)
        reading.content += f"crc32:{content.crc:08x}:{content.count_bytes}"


def _other_member(file: TraceFile, member: Member, header: list[str], reading: Reading) -> None:
    """A member of the archive that is not of its table: passed over when it is no trace table."""
    match = recognise(header)
    if isinstance(match, Match):
        raise TracekitError(
            f"{file.name} holds two tables: {file.match.format.file_stem}"
            f" and, in {member.name}, {match.format.file_stem}",
            hint="unpack it and ingest the files apart",
        )
    reading.members_passed_over.append(member.name)


def _split_header(first: bytes) -> tuple[list[str], bytes]:
    line, _, body = first.partition(b"\n")
    return line.decode(errors="replace").split(","), body


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if b"\n" in first:
        yield first
    yield from rest


def _clean_blocks(
    match: Match, counts: Counts, blocks: Iterator[bytes], first_line: int
) -> Iterator[CleanBlock]:
    line = first_line
    for block in blocks:
        yield _clean(block, match, line, counts)
        line += block.count(b"\n")


def _clean(block: bytes, match: Match, first_line: int, counts: Counts) -> CleanBlock:
    layout = layout_of(match)
    positions = [layout.positions[column.name] for column in layout.table.columns]
    parsed = parse_block(block, layout.table, positions, len(match.header), first_line)
    return validate(parsed, layout.table, match.source.missing_names, counts)


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Load libraries without looking for garbage.

    Nothing that is loaded is ever garbage, yet Python looks through all of it again and again,
    a quarter of the time that loading takes. A process that has frozen what it loaded at its start,
    as those of tracekit's own do, freezes this too.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
        if gc.get_freeze_count():
            gc.freeze()
    finally:
        if was:
            gc.enable()
