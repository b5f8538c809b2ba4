"""Streams one trace file as clean blocks of a base table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tracekit.errors import TracekitError
from tracekit.ingest.ahead import ahead
from tracekit.ingest.blocks import lines_in_blocks
from tracekit.ingest.discover import TraceFile
from tracekit.ingest.members import (
    ContentReader,
    HashingReader,
    Member,
    damaged_as_error,
    members,
)
from tracekit.ingest.parquet import parquet_blocks
from tracekit.ingest.parse import parse_block
from tracekit.ingest.validate import CleanBlock, Counts, validate
from tracekit.sources import Match, recognise
from tracekit.tables import Table, all_tables


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
    with file.path.open("rb") as handle:
        raw = HashingReader(handle, on_read)
        with damaged_as_error(file.path):
            if file.kind == "parquet":
                yield from parquet_blocks(file, reading.counts)
            else:
                yield from _csv_blocks(file, raw, reading)
        reading.sha256 = raw.finish()
    reading.content = reading.content or f"sha256:{reading.sha256}"


def _csv_blocks(file: TraceFile, raw: HashingReader, reading: Reading) -> Iterator[CleanBlock]:
    for member in members(file.path, file.kind, raw):
        content = ContentReader(member.stream)
        blocks = ahead(lines_in_blocks(content))
        header, body = _split_header(next(blocks, b""))
        match = recognise(header, release=file.match.source.name)
        if not isinstance(match, Match) or match.format is not file.match.format:
            _other_member(file, member, header, reading)
            continue
        line = 2
        for block in _chain(body, blocks):
            yield _clean(block, match, line, reading.counts)
            line += block.count(b"\n")
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
    if first:
        yield first
    yield from rest


def _clean(block: bytes, match: Match, first_line: int, counts: Counts) -> CleanBlock:
    table = table_of(match)
    positions = [match.positions[column.name] for column in table.columns]
    parsed = parse_block(block, table, positions, len(match.header), first_line)
    return validate(parsed, table, match.source.missing_names, counts)


def table_of(match: Match) -> Table:
    """The base table a recognised header belongs to."""
    return all_tables()[match.format.table]
