"""Reads one trace file as coded rows of a base table."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial

from tracekit.base.errors import TracekitError
from tracekit.base.files.ahead import Pieces, ahead
from tracekit.base.files.places import open_whole
from tracekit.base.folders import is_compiled
from tracekit.intake.read.arrow_rows import layout_of, parquet_blocks, table_of, unpivot
from tracekit.intake.read.blocks import BLOCK_BYTES, PADDING, lines_in_blocks
from tracekit.intake.read.coded import CodedRows, Keys, PlainKeys, code, key_kinds, make_plan
from tracekit.intake.read.discover import TraceFile
from tracekit.intake.read.members import (
    ContentReader,
    HashingReader,
    Member,
    damaged_as_error,
    members,
)
from tracekit.intake.read.parse import CleanBlock, Counts, parse_block, validate
from tracekit.intake.sources import Match, recognise

#: The compiled walk pays for a file of this size. It also pays for a smaller file if all files
#: together are large; less is enough if the code is compiled already. Loading the code costs as
#: much as 5 MiB by polars, compiling it as much as 60 MiB.
COMPILED_FROM_BYTES = 16 << 20
_SOME_BYTES = 256 << 10
_TOGETHER_BYTES, _TOGETHER_COMPILED_BYTES = 64 << 20, 8 << 20
#: The number of blocks that are unpacked while numba loads.
_BLOCKS_AHEAD = 8
#: The number of the first line below the header.
_FIRST_LINE = 2


@dataclass
class Reading:
    """Facts about one file, complete after its blocks were read.

    ``content`` identifies the content: CRC-32 and length of the CSV, or a sha256.
    """

    sha256: str = ""
    content: str = ""
    counts: Counts = field(default_factory=Counts)


@dataclass
class CodedFile:
    """A trace file to be read as ``CodedRows``; ``keys`` has all names after the last block.

    ``padding`` is the number of zero bytes behind each block; 0 means that polars parses the file.
    """

    file: TraceFile
    reading: Reading
    padding: int

    @cached_property
    def keys(self) -> Keys:
        """The keys of the file's names; made late, as numba loads while the first blocks unpack."""
        kinds = len(key_kinds(table_of(self.file.match)))
        if not self.padding:
            return PlainKeys(kinds)
        with nothing_collected():
            from tracekit.intake.read.scanner import HashKeys  # noqa: PLC0415 - numba takes its time

            return HashKeys(kinds, tuple(sorted(self.file.match.source.missing_names | {""})))

    def blocks(self, on_read: Callable[[int], None] | None = None) -> Iterator[CodedRows]:
        """Yield the rows of the base table in blocks.

        Raises TracekitError if the file is cut or corrupt.
        """
        match = self.file.match
        with _reading(self.file, self.reading, on_read) as raw:
            if self.file.kind == "parquet":
                table = layout_of(match).table
                for clean in parquet_blocks(self.file, self.reading.counts):
                    yield unpivot(code(clean, table, self.keys), match, self.keys)
            else:
                for rows in self._csv_blocks(raw):
                    yield unpivot(rows, match, self.keys)

    def _csv_blocks(self, raw: HashingReader) -> Iterator[CodedRows]:
        file = self.file
        for member in members(file.path, file.kind, raw):
            # unpacking takes longest, so its thread does nothing else
            pieces = ahead(iter(partial(member.stream.read, BLOCK_BYTES), b""))
            content = ContentReader(Pieces(pieces))
            blocks = ahead(lines_in_blocks(content, padding=self.padding), _BLOCKS_AHEAD)
            header, body = _split_header(next(blocks, b""))
            match = recognise(header, release=file.match.source.name)
            if not isinstance(match, Match) or match.format is not file.match.format:
                blocks.close()
                pieces.close()
                _check_no_table(file, member, header)
                continue
            read = self._scanned if self.padding else self._parsed
            yield from read(match, _chain(body, blocks))
            self.reading.content += f"crc32:{content.crc:08x}:{content.count_bytes}"

    def _scanned(self, match: Match, blocks: Iterator[bytes]) -> Iterator[CodedRows]:
        """The rows of blocks of whole lines below the header, by the compiled walk."""
        from tracekit.intake.read.scanner import HashKeys, Scanner  # noqa: PLC0415 - as in keys

        assert isinstance(self.keys, HashKeys)  # noqa: S101 - there is padding
        layout, counts = layout_of(match), self.reading.counts
        missing = match.source.missing_names
        plan = make_plan(layout.table, layout.positions, len(match.header), missing)
        careful = partial(_clean, match=match, counts=counts)
        return Scanner(plan, self.keys, counts, careful).rows(blocks, _FIRST_LINE)

    def _parsed(self, match: Match, blocks: Iterator[bytes]) -> Iterator[CodedRows]:
        """The rows of blocks of whole lines below the header, by polars."""
        line, table = _FIRST_LINE, layout_of(match).table
        for block in blocks:
            yield code(_clean(block, line, match, self.reading.counts), table, self.keys)
            line += block.count(b"\n")


def open_coded(file: TraceFile) -> CodedFile:
    """Return a file as coded rows; compiled code reads it if it, or the whole ingest, is large."""
    enough = _TOGETHER_COMPILED_BYTES if is_compiled("scan.py") else _TOGETHER_BYTES
    together = file.together_bytes >= enough
    least = min(_SOME_BYTES, COMPILED_FROM_BYTES) if together else COMPILED_FROM_BYTES
    plain = file.kind == "parquet" or file.size_bytes < least
    return CodedFile(file, Reading(), 0 if plain else PADDING)


@contextmanager
def _reading(
    file: TraceFile, reading: Reading, on_read: Callable[[int], None] | None
) -> Iterator[HashingReader]:
    """The opened file; afterwards ``reading`` is complete."""
    with open_whole(file.path) as handle:
        raw = HashingReader(handle, on_read)
        with damaged_as_error(file.path):
            yield raw
        reading.sha256 = raw.finish()
    reading.content = reading.content or f"sha256:{reading.sha256}"


def _check_no_table(file: TraceFile, member: Member, header: list[str]) -> None:
    """Raise TracekitError when a member of the archive is a trace table of another format."""
    match = recognise(header)
    if isinstance(match, Match):
        raise TracekitError(
            f"{file.name} holds two tables: {file.match.format.file_stem}"
            f" and, in {member.name}, {match.format.file_stem}",
            hint="unpack it and ingest the files apart",
        )


def _split_header(first: bytes) -> tuple[list[str], bytes]:
    line, _, body = first.partition(b"\n")
    return line.decode(errors="replace").split(","), body


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if b"\n" in first:
        yield first
    yield from rest


def _clean(block: bytes, first_line: int, match: Match, counts: Counts) -> CleanBlock:
    layout = layout_of(match)
    positions = [layout.positions[column.name] for column in layout.table.columns]
    parsed = parse_block(block, layout.table, positions, len(match.header), first_line)
    return validate(parsed, layout.table, match.source.missing_names, counts)


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Switch off garbage collection while a ``with`` block loads libraries.

    Loaded modules are never garbage, yet Python searches them again and again, which takes a
    quarter of the time to load them. If the process froze its modules at the start, the new ones
    are frozen too.
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
