"""Which archives are wanted: tables by word or name, parts by number."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.replacing import Parts, parse_parts
from tracekit.intake.sources import Archives, ClusterSource, Source, all_sources, get_source


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One archive to fetch.

    Parameters
    ----------
    path : str
        Where it goes, below the output folder, and where it lies below the base URL.
    usual_bytes : int
        The size that such an archive usually has.
    sha256 : str, optional
        Its checksum as upstream states it.
    """

    table: str
    part: int
    path: str
    url: str
    usual_bytes: int
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """A table of a release, or a kind of its files, and the archives that hold it.

    Parameters
    ----------
    names : tuple of str
        What it may be called, the word first.
    title : str
        What messages call it.
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
    """The archives of some tables (all when none is named) and parts (``0-3,7``; all when None).

    A table that comes in one archive is taken whole beside one of which parts are asked for.

    Raises
    ------
    TracekitError
        For an unknown release or table, a release that cannot be downloaded, parts that are no
        numbers or that a table does not have, and a base URL that is no http address.
    """
    source = get_source(release)
    base = _base_url(source, base_url)
    numbers = parse_parts(parts)
    wanted: dict[str, Wanted] = {}
    chosen = _chosen(source, tables)
    divided = any(kept.archives.parts > 1 for kept in chosen)
    for kept in chosen:
        whole = divided and kept.archives.parts == 1
        for part in _numbers(kept, None if whole else numbers):
            archives = kept.archives
            path = archives.path.format(part=part)
            one = Wanted(
                table=kept.table,
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


def _kept(source: Source) -> list[_Kept]:
    """The parts that the release keeps in archives, in its order."""
    tables = [
        _Kept(
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
        _Kept(names=(file.word,), table=file.tables[0], title=file.word, archives=file.archives)
        for file in files
        if file.archives is not None
    ]


def _chosen(source: Source, tables: Sequence[str]) -> list[_Kept]:
    """The wanted parts, in the release's order, each once."""
    fetchable = _kept(source)
    spelled = {name: kept for kept in fetchable for name in kept.names}
    for name in tables:
        if name.lower() not in spelled:
            close = nearest(name.lower(), spelled)
            raise TracekitError(
                f"release {source.name} has no table '{name}'; tables:"
                f" {', '.join(kept.names[0] for kept in fetchable)}",
                hint=f"did you mean '{close}'?" if close else None,
            )
    asked = {spelled[name.lower()].names for name in tables}
    return [kept for kept in fetchable if not asked or kept.names in asked]


def _these(kept: _Kept) -> str:
    last = kept.archives.parts - 1
    return f"parts 0 to {last}" if last else "part 0 only"


def _some(kept: _Kept) -> str:
    last = min(3, kept.archives.parts - 1)
    return f"0-{last}" if last else "0"


def _numbers(kept: _Kept, asked: Parts | None) -> list[int]:
    every = range(kept.archives.parts)
    if asked is None:
        return list(every)
    found = [part for part in every if part in asked]
    if not found:
        raise TracekitError(
            f"{kept.title} has {_these(kept)}, none of those asked for",
            hint=f"for example --parts {_some(kept)}",
        )
    return found
