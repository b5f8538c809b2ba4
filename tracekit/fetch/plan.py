"""Which archives are wanted: tables by word or name, parts by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from tracekit.errors import TracekitError, nearest
from tracekit.files.parts import Parts, parse_parts
from tracekit.sources import Archives, Source, TableFormat, all_sources, get_source


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One archive to fetch.

    Parameters
    ----------
    path : str
        Where it goes, below the output folder, and where it lies below the base URL.
    usual_bytes : int
        The size that such an archive usually has.
    """

    table: str
    part: int
    path: str
    url: str
    usual_bytes: int


def plan(
    release: str,
    *,
    tables: Sequence[str] = (),
    parts: str | None = None,
    base_url: str | None = None,
) -> list[Wanted]:
    """The archives of some tables (all when none is named) and parts (``0-3,7``; all when None).

    A table that comes in one archive is taken whole whatever parts are asked for.

    Raises
    ------
    TracekitError
        For an unknown release or table, a release that cannot be downloaded, parts that are no
        numbers or that a table does not have, and a base URL that is no http address.
    """
    source = get_source(release)
    base = _base_url(source, base_url)
    numbers = parse_parts(parts)
    wanted = []
    for fmt, archives in _chosen(source, tables):
        for part in _numbers(fmt, archives, numbers):
            path = archives.path.format(part=part)
            wanted.append(
                Wanted(
                    table=fmt.table,
                    part=part,
                    path=path,
                    url=urljoin(base, path),
                    usual_bytes=archives.part_bytes,
                )
            )
    return wanted


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


def _chosen(source: Source, tables: Sequence[str]) -> list[tuple[TableFormat, Archives]]:
    """The formats asked for, in the release's order, each once."""
    fetchable = [(fmt, fmt.archives) for fmt in source.formats if fmt.archives is not None]
    spelled = {
        name.lower(): fmt for fmt, _ in fetchable for name in (fmt.word, fmt.table, fmt.file_stem)
    }
    for name in tables:
        if name.lower() not in spelled:
            close = nearest(name.lower(), spelled)
            raise TracekitError(
                f"release {source.name} has no table '{name}'; tables:"
                f" {', '.join(fmt.word for fmt, _ in fetchable)}",
                hint=f"did you mean '{close}'?" if close else None,
            )
    asked = {spelled[name.lower()].table for name in tables}
    return [(fmt, archives) for fmt, archives in fetchable if not asked or fmt.table in asked]


def _numbers(fmt: TableFormat, archives: Archives, asked: Parts | None) -> list[int]:
    every = range(archives.parts)
    if asked is None or archives.parts == 1:
        return list(every)
    found = [part for part in every if part in asked]
    if not found:
        raise TracekitError(
            f"{fmt.file_stem} has parts 0 to {archives.parts - 1}, none of those asked for",
            hint=f"for example --parts 0-{min(3, archives.parts - 1)}",
        )
    return found
