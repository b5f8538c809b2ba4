"""Trace releases: one file per release says how its files spell the base tables."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit import registry
from tracekit.errors import TracekitError, nearest
from tracekit.tables import all_tables


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """How one kind of file of a release spells one base table.

    Parameters
    ----------
    table : str
        The base table the rows go to.
    file_stem : str
        What the release calls the file: ``MSResource`` for ``MSResource_0.tar.gz``.
    columns : mapping of str to tuple of str
        For each column of the base table, the names it has in headers, the real one first.
    """

    table: str
    file_stem: str
    columns: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A trace release.

    Parameters
    ----------
    missing_names : frozenset of str
        Spellings that stand for "name unknown" in id columns; they become NULL and are counted.
    """

    name: str
    title: str
    url: str
    formats: tuple[TableFormat, ...]
    missing_names: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Match:
    """A header that belongs to a release's table: where each base column stands in it."""

    source: Source
    format: TableFormat
    header: tuple[str, ...]
    positions: Mapping[str, int]


@functools.cache
def all_sources() -> dict[str, Source]:
    """Every trace release tracekit reads, by name."""
    return registry.instances(sys.modules[__name__], Source)


def recognise(header: Sequence[str], *, release: str = "auto") -> Match | TracekitError:
    """The release and table a header belongs to, or the error that says why none fits.

    Column order does not matter, nor does an unnamed index column. The error is returned, not
    raised: in a folder, a file that is no trace table at all is passed over.
    """
    names = tuple(name.strip().lstrip("\ufeff") for name in header)
    best: tuple[int, Source, TableFormat] | None = None
    for source in _candidates(release):
        for fmt in source.formats:
            positions = _positions(fmt, names)
            if len(positions) == len(fmt.columns) and not _left_over(source, names, positions):
                return Match(source=source, format=fmt, header=names, positions=positions)
            if best is None or len(positions) > best[0]:
                best = (len(positions), source, fmt)
    return _mismatch(names, best)


def _candidates(release: str) -> list[Source]:
    if release == "auto":
        return list(all_sources().values())
    return [get_source(release)]


def get_source(name: str) -> Source:
    """The release of that name; raises TracekitError for an unknown one."""
    if name not in all_sources():
        close = nearest(name, all_sources())
        raise TracekitError(
            f"no trace release named '{name}'; known: {', '.join(all_sources())}",
            hint=f"did you mean '{close}'?" if close else "list them: tracekit list sources",
        )
    return all_sources()[name]


def _positions(fmt: TableFormat, header: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for column, spellings in fmt.columns.items():
        at = next((header.index(name) for name in spellings if name in header), None)
        if at is not None:
            found[column] = at
    return found


def _left_over(source: Source, header: tuple[str, ...], positions: Mapping[str, int]) -> set[str]:
    """Columns that the format leaves unread although the release knows them: another table's."""
    known = {name for f in source.formats for names in f.columns.values() for name in names}
    return {name for at, name in enumerate(header) if at not in positions.values()} & known


class MissingColumnError(TracekitError):
    """A file that is nearly a trace table: most columns are there, some are not."""


def _mismatch(
    header: tuple[str, ...], best: tuple[int, Source, TableFormat] | None
) -> TracekitError:
    shown = ", ".join(name or "(unnamed)" for name in header[:12])
    if best is None or best[0] * 2 < len(best[2].columns):
        known = ", ".join(f"{f.file_stem}" for s in all_sources().values() for f in s.formats)
        return TracekitError(
            f"not a table of a known trace; its first line is: {shown[:120]}",
            hint=f"tracekit reads the tables {known}; list them: tracekit list sources",
        )
    _, source, fmt = best
    present = _positions(fmt, header)
    missing = [column for column in fmt.columns if column not in present]
    wanted = [fmt.columns[column][0] for column in missing]
    spare = [name for at, name in enumerate(header) if name and at not in present.values()]
    likely = [(want, nearest(want, spare)) for want in wanted]
    guesses = "; ".join(f"'{near}' may be '{want}'" for want, near in likely if near)
    return MissingColumnError(
        f"{source.name} table {fmt.file_stem} without column {', '.join(map(repr, wanted))};"
        f" found: {shown}",
        hint=f"{guesses or 'the file may be cut, or from another release'};"
        f" {fmt.file_stem} has {', '.join(names[0] for names in fmt.columns.values())}",
    )


def check_formats() -> list[str]:
    """What is inconsistent between the releases and the base tables; empty when all is well."""
    problems = []
    for source in all_sources().values():
        for fmt in source.formats:
            table = all_tables().get(fmt.table)
            if table is None:
                problems.append(f"{source.name}: unknown table {fmt.table}")
            elif set(fmt.columns) != {column.name for column in table.columns}:
                problems.append(
                    f"{source.name}: columns of {fmt.file_stem} differ from {fmt.table}"
                )
    return problems
