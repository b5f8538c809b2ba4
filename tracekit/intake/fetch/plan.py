"""The archives that a fetch downloads: tables by word or name, parts by number."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.replacing import Parts, parse_parts
from tracekit.intake.sources import Archives, ClusterSource, Source, all_sources, get_source


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One archive to download, as ``plan`` returns it.

    Parameters
    ----------
    path : str
        The path of the archive, both below the output folder and below the base URL.
    usual_bytes : int
        The usual size of such an archive.
    sha256 : str, optional
        The checksum that upstream states.
    """

    table: str
    part: int
    path: str
    url: str
    usual_bytes: int
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Archived:
    """A table of a release, or a kind of its files, and the archives of the table.

    Parameters
    ----------
    names : tuple of str
        The names that a user may give, the word first.
    title : str
        The name in messages.
    """

    names: tuple[str, ...]
    table: str
    title: str
    archives: Archives


def plan(
    release: str,
    *,
    tables: Sequence[str] = (),
    parts: str | None = None,
    base_url: str | None = None,
) -> list[Wanted]:
    """Return the archives of the named tables and parts.

    Tables with a single archive have no parts. Their archive is returned whatever ``parts`` says,
    unless every named table is of this kind.

    Parameters
    ----------
    tables : sequence of str
        Names or words of tables; all tables when empty.
    parts : str, optional
        Numbers and ranges of parts; all parts when None. ``0-3,7`` gives 0, 1, 2, 3 and 7.

    Raises
    ------
    TracekitError
        For an unknown release or table, a release that cannot be downloaded, parts that are no
        numbers or of which a table has none, and a base URL that is no http address.
    """
    source = get_source(release)
    base = _base_url(source, base_url)
    numbers = parse_parts(parts)
    wanted: dict[str, Wanted] = {}
    chosen = _chosen(source, tables)
    divided = any(archived.archives.parts > 1 for archived in chosen)
    for archived in chosen:
        whole = divided and archived.archives.parts == 1
        for part in _numbers(archived, None if whole else numbers):
            archives = archived.archives
            path = archives.path.format(part=part)
            one = Wanted(
                table=archived.table,
                part=part,
                path=path,
                url=urljoin(base, path),
                usual_bytes=archives.part_bytes,
                sha256=archives.sha256[part] if archives.sha256 else None,
            )
            # several tables may lie in one archive
            wanted.setdefault(path, one)
    return list(wanted.values())


def _base_url(source: Source, base_url: str | None) -> str:
    base = base_url if base_url is not None else source.download_url
    if base is None:
        fetched = [name for name, other in all_sources().items() if other.download_url]
        raise TracekitError(
            f"release {source.name} cannot be fetched; these can: {', '.join(fetched)}",
            hint=f"get it from {source.url}",
        )
    parts = urlsplit(base)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise TracekitError(
            f"--base-url {base}: not an http address",
            hint="for example --base-url https://mirror.example.org/v2021MicroservicesTraces/",
        )
    return base if base.endswith("/") else f"{base}/"


def _archived(source: Source) -> list[_Archived]:
    """The tables and kinds of files that the release publishes in archives, in its order."""
    tables = [
        _Archived(
            names=(fmt.word, fmt.table.lower(), fmt.file_stem.lower()),
            table=fmt.table,
            title=fmt.file_stem,
            archives=fmt.archives,
        )
        for fmt in source.formats
        if fmt.archives is not None
    ]
    files = source.files if isinstance(source, ClusterSource) else ()
    return tables + [
        _Archived(names=(file.word,), table=file.tables[0], title=file.word, archives=file.archives)
        for file in files
        if file.archives is not None
    ]


def _chosen(source: Source, tables: Sequence[str]) -> list[_Archived]:
    """The tables with these names, in the order of the release; all tables without names."""
    fetchable = _archived(source)
    spelled = {name: archived for archived in fetchable for name in archived.names}
    for name in tables:
        if name.lower() not in spelled:
            close = nearest(name.lower(), spelled)
            raise TracekitError(
                f"release {source.name} has no table '{name}'; tables:"
                f" {', '.join(archived.names[0] for archived in fetchable)}",
                hint=f"did you mean '{close}'?" if close else None,
            )
    chosen = {spelled[name.lower()].names for name in tables}
    return [archived for archived in fetchable if not chosen or archived.names in chosen]


def _all_parts(archived: _Archived) -> str:
    last = archived.archives.parts - 1
    return f"parts 0 to {last}" if last else "part 0 only"


def _example_parts(archived: _Archived) -> str:
    last = min(3, archived.archives.parts - 1)
    return f"0-{last}" if last else "0"


def _numbers(archived: _Archived, numbers: Parts | None) -> list[int]:
    every = range(archived.archives.parts)
    if numbers is None:
        return list(every)
    parts = [part for part in every if part in numbers]
    if not parts:
        raise TracekitError(
            f"{archived.title} has {_all_parts(archived)}, none of the parts in --parts",
            hint=f"for example --parts {_example_parts(archived)}",
        )
    return parts
