"""A trace release: tables, archives."""

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
        Below the release's ``download_url``, with ``{part}`` for the number: 0 to ``parts`` - 1;
        without it where there is one archive only.
    part_bytes : int
        Usual size of one archive; only progress and advice are drawn from it.
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
    """A wide table: each of some columns becomes a row of its own.

    Parameters
    ----------
    name_column, value_column : str
        Columns of the base table that get the measure's name and its value.
    names : mapping of str to str
        For each wide column of the header, the measure's name in the base table. A file may lack
        some of them, not all.
    """

    name_column: str
    value_column: str
    names: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """How one kind of file of a release spells one base table.

    Parameters
    ----------
    table : str
        The base table the rows go to.
    word : str
        The table in one word, for ``tracekit fetch --tables``: node, resource, rate, call.
    file_stem : str
        What the release calls the file: ``MSResource`` for ``MSResource_0.tar.gz``.
    columns : mapping of str to tuple of str
        For each column of the base table, the names it has in headers, the real one first.
    ignored : tuple of str
        Columns that the file has besides, and that no base table holds.
    unpivot : Unpivot, optional
        For wide tables: the columns of the base table that ``columns`` leaves out.
    archives : Archives, optional
        Where the release keeps the files.
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
    """A trace release.

    Parameters
    ----------
    missing_names : frozenset of str
        Spellings that stand for "name unknown" in id columns; they become NULL and are counted.
    id_pattern : str, optional
        A regular expression for the ids of nodes, containers and services. It tells releases
        apart whose headers are the same.
    download_url : str, optional
        The address below which ``Archives.path`` lies.
    notes : tuple of str
        What a reader of the numbers must know about this release.
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
    """A header that belongs to a release's table: where each base column stands in it.

    Parameters
    ----------
    positions : mapping of str to int
        The place of each column of ``format.columns``.
    wide : mapping of str to int
        For wide tables: the place of each measure, by the name it has in the base table.
    """

    source: Source
    format: TableFormat
    header: tuple[str, ...]
    positions: Mapping[str, int]
    wide: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
