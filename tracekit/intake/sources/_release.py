"""A release of a trace: its tables and archives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Archives:
    """The archives of one table in a release.

    Parameters
    ----------
    path : str
        The path below the release's ``download_url``, with ``{part}`` for the numbers 0 to
        ``parts`` - 1; without it for a single archive.
    part_bytes : int
        Usual size of one archive, for progress and advice.
    sha256 : tuple of str
        The checksum of each archive as upstream states it; empty where it states none.
    """

    path: str
    parts: int
    part_bytes: int
    sha256: tuple[str, ...] = ()

    @classmethod
    def single(cls, stem: str, part_bytes: int, sha256: str) -> Self:
        """The one archive that holds a whole table."""
        path = f"{stem}.tar.gz"
        return cls(path=path, parts=1, part_bytes=part_bytes, sha256=(sha256,))


@dataclass(frozen=True, kw_only=True)
class Unpivot:
    """How a wide table becomes a long one: each of some columns becomes a row.

    Parameters
    ----------
    name_column, value_column : str
        The columns of the base table for the measure's name and its value.
    names : mapping of str to str
        For each wide column of the header, the measure's name in the base table. A file may
        lack some of the columns, but not all.
    """

    name_column: str
    value_column: str
    names: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """The columns of one kind of file of a release, and the base table that they make.

    Parameters
    ----------
    table : str
        The base table that gets the rows.
    word : str
        The table in one word, for ``tracekit fetch --tables``: node, resource, rate, call.
    file_stem : str
        The release's name of the file: ``MSResource`` for ``MSResource_0.tar.gz``.
    columns : mapping of str to tuple of str
        For each column of the base table, its names in headers; that of the released files
        first.
    ignored : tuple of str
        Further columns of the file, which no base table holds.
    unpivot : Unpivot, optional
        For a wide table, how the columns that ``columns`` leaves out are made.
    archives : Archives, optional
        The archives of the files.
    """

    table: str
    word: str
    file_stem: str
    columns: Mapping[str, tuple[str, ...]]
    ignored: tuple[str, ...] = ()
    unpivot: Unpivot | None = None
    archives: Archives | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """A release of a trace.

    Parameters
    ----------
    missing_names : frozenset of str
        Values of id columns that stand for an unknown name; they become NULL and are counted.
    id_pattern : str, optional
        A regular expression of the ids of nodes, containers and services. It distinguishes
        releases with equal headers.
    download_url : str, optional
        The address below which the archives are.
    notes : tuple of str
        Notes that a reader of the numbers needs.
    """

    name: str
    title: str
    url: str
    missing_names: frozenset[str] = frozenset({""})
    formats: tuple[TableFormat, ...] = ()
    id_pattern: str | None = None
    download_url: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Match:
    """A header that belongs to a release's table, with the position of each column.

    Parameters
    ----------
    positions : mapping of str to int
        The position of each column of ``format.columns``.
    wide : mapping of str to int
        For a wide table, the position of each measure, by its name in the base table.
    """

    source: Source
    format: TableFormat
    header: tuple[str, ...]
    positions: Mapping[str, int]
    wide: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
