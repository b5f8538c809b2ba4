"""Sources: each file says how to read the files of one trace, or of a user's own cluster.

``released`` holds published traces, ``own`` the formats in which users have their own clusters. CSV
files with a header are described (``TableFormat``) and read by compiled code; all other files are
read by a function of the source (``ClusterFile``).
"""

import functools
import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tracekit.base import registry
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.words import plural
from tracekit.intake.sources._source import (
    ORIGINAL,
    Archives,
    Batch,
    Broken,
    ClusterFile,
    ClusterMatch,
    ClusterSource,
    Head,
    Match,
    Opened,
    Read,
    Source,
    TableFormat,
    Unpivot,
    cluster_match,
    row_text,
)
from tracekit.store.tables import all_tables

__all__ = [
    "ORIGINAL",
    "Archives",
    "Batch",
    "Broken",
    "ClusterFile",
    "ClusterMatch",
    "ClusterSource",
    "Head",
    "Match",
    "MissingColumnError",
    "Opened",
    "Read",
    "Source",
    "TableFormat",
    "Unpivot",
    "all_sources",
    "get_source",
    "is_published",
    "lacking",
    "recognise",
    "recognise_by_reader",
    "row_text",
]

_NAMED = ("node", "container", "service")
_ZIP_MAGIC = "PK\x03\x04"
_PAGES = ("<html", "<!doctype html", "<?xml")
_Best = tuple[int, Source, TableFormat]


class MissingColumnError(TracekitError):
    """The error for a file that lacks some columns of the table that it otherwise looks like."""


@functools.cache
def all_sources() -> dict[str, Source]:
    """Return the sources of tracekit and of installed packages, by name."""
    own = _of_room("own") | _of_room("released")
    return registry.with_entry_points(own, "tracekit.intake.sources", _is_source, "source")


def _of_room(room: str) -> dict[str, Source]:
    package = importlib.import_module(f"{__name__}.{room}")
    return {source.name: source for source in registry.named(package, Source).values()}


def _is_source(name: str, brought: object) -> bool:
    return isinstance(brought, Source) and brought.name == name


def is_published(name: str) -> bool:
    """Return whether a source is a published trace. Other sources read a user's own cluster."""
    return name in _of_room("released")


def recognise(
    header: Sequence[str], *, release: str = "auto", rows: Sequence[Sequence[str]] = ()
) -> Match | TracekitError:
    """Find the release and table of a header, or return the error that says why none fits.

    Column order does not matter, nor does an unnamed index column. The error is returned, because a
    folder may hold files that are no trace tables.

    Parameters
    ----------
    rows : sequence of sequences of str
        The fields of some of the first rows. If two releases have the same header, the form of the
        ids decides; if it cannot, the older release is taken.
    """
    sources = _of(release)
    names = tuple(name.strip().lstrip("\ufeff") for name in header)
    matches = list(_matches(sources, names))
    if matches:
        return next((match for match in matches if _ids_agree(match, rows)), matches[0])
    if names[0].startswith(_ZIP_MAGIC):
        return TracekitError(
            "a zip, which no table of a known trace comes in",
            hint="unpack it, then ingest the files; known sources: tracekit list sources",
        )
    if names[0].lower().startswith(_PAGES):
        page_text = re.sub(r"\s*<[^>]*>\s*", " ", ",".join(names)).strip()
        return TracekitError(
            f"a web page and no data; it says {page_text[:80]!r}"
            if page_text
            else "a web page and no data",
            hint="a server or a proxy answered in place of what was asked for: fetch it again",
        )
    if _UTF_16.match(names[0]):
        return utf_16()
    second = next((",".join(row).strip() for row in rows if any(row)), "")
    if second.startswith(_JSON) and not names[0].startswith(_JSON):
        return TracekitError(
            f"is JSON after a line that is none: {','.join(names)[:80]!r}",
            hint="take the line away; a message stands in the file where 2>&1 was written",
        )
    return _mismatch(names, sources)


def _of(release: str) -> list[Source]:
    return list(all_sources().values()) if release == "auto" else [get_source(release)]


def recognise_by_reader(head: Head, *, release: str) -> ClusterMatch | None:
    """Return the first source and kind of file that recognise a file; None if none does."""
    for source in _of(release):
        if isinstance(source, ClusterSource):
            for file in source.files:
                if file.recognises(head):
                    return cluster_match(source, file)
    return None


def lacking(head: Head, *, release: str) -> TracekitError | None:
    """Return the error for a file that has the name of a user's own table but not its columns.

    Return None for any other file. The error is a ``MissingColumnError``, or a plain
    ``TracekitError`` if a Parquet file with the name of a table of the store has another header,
    since such a file may not be meant as a user's table.
    """
    for source in _of(release):
        for file in source.files if isinstance(source, ClusterSource) else ():
            missing = file.lacks(head)
            if missing:
                error = _no_table(head, file, missing)
                other = bool(head.columns) and file.word in all_tables()
                return TracekitError(error.what, hint=error.hint) if other else error
    return None


def _no_table(head: Head, file: ClusterFile, missing: tuple[str, ...]) -> MissingColumnError:
    """The error for a file that has the name of a table and not its columns."""
    of = f"no table of {file.word} of your own"
    first = head.lines[0] if head.lines else ""
    if "\0" in first:
        coded = utf_16()
        return MissingColumnError(f"{of}: {coded.what}", hint=coded.hint)
    if not first.strip() and not head.columns:
        return MissingColumnError(
            f"{of}: its first line is empty, expected {_example(missing)}",
            hint="write the names of its columns there, or take the file away",
        )
    other = next((one for one in ";\t|" if file.lacks(_with_commas(head, one)) == ()), "")
    if other:
        return MissingColumnError(
            f"{of}, but its columns are separated by {other!r}; expected commas",
            hint="write it with commas, and numbers with a decimal point",
        )
    columns = ", ".join(head.fields()[:12])[:120]
    # a number names no column
    if not head.columns and any(_is_number(one) for one in head.fields()):
        return MissingColumnError(
            f"{of}: its first line is no header: {columns}; expected {_example(missing)}",
            hint="write the names of its columns as its first line",
        )
    return MissingColumnError(
        f"{of}, for want of the {plural(len(missing), 'column')} {', '.join(missing)};"
        f" found: {columns}",
        hint="rename or add them: docs/sources/folder.md says which there are; or give the file"
        " another name",
    )


def _example(missing: tuple[str, ...]) -> str:
    return f"the names of columns, with {', '.join(missing)} among them"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _with_commas(head: Head, separator: str) -> Head:
    """The same first bytes, with commas in place of another separator."""
    return replace(head, start=head.start.replace(separator.encode(), b","))


def get_source(name: str) -> Source:
    """Return the source of that name; raise TracekitError if there is none."""
    if name not in all_sources():
        close = nearest(name, all_sources())
        raise TracekitError(
            f"no trace release named '{name}'; known: {', '.join(all_sources())}",
            hint=f"did you mean '{close}'?" if close else "list them: tracekit list sources",
        )
    return all_sources()[name]


# Which release and table a file belongs to: by its header, and by its ids where headers agree.


def utf_16() -> TracekitError:
    """Return an error that says that a file is in UTF-16, for the caller to raise."""
    return TracekitError(
        "is text in UTF-16, expected UTF-8",
        hint="write it anew: iconv -f UTF-16 -t UTF-8 FILE, or in PowerShell"
        " Out-File -Encoding utf8 in place of >",
    )


def _matches(sources: Sequence[Source], header: tuple[str, ...]) -> Iterable[Match]:
    for source in sources:
        for fmt in source.formats:
            positions, wide = _positions(fmt, header), _wide(fmt, header)
            whole = len(positions) == len(fmt.columns) and bool(wide) == bool(fmt.unpivot)
            if whole and not _left_over(source, fmt, header, positions):
                yield Match(
                    source=source, format=fmt, header=header, positions=positions, wide=wide
                )


def _positions(fmt: TableFormat, header: tuple[str, ...]) -> dict[str, int]:
    places: dict[str, int] = {}
    for column, spellings in fmt.columns.items():
        at = next((header.index(name) for name in spellings if name in header), None)
        if at is not None:
            places[column] = at
    return places


def _wide(fmt: TableFormat, header: tuple[str, ...]) -> dict[str, int]:
    names = fmt.unpivot.names if fmt.unpivot is not None else {}
    return {measure: header.index(name) for name, measure in names.items() if name in header}


def _left_over(
    source: Source, fmt: TableFormat, header: tuple[str, ...], positions: Mapping[str, int]
) -> set[str]:
    """Columns of the file that belong to another table of the release."""
    release_names = {name for f in source.formats for names in f.columns.values() for name in names}
    release_names |= {name for f in source.formats if f.unpivot for name in f.unpivot.names}
    release_names -= {*fmt.ignored, *(fmt.unpivot.names if fmt.unpivot is not None else ())}
    return {name for at, name in enumerate(header) if at not in positions.values()} & release_names


def _ids_agree(match: Match, rows: Sequence[Sequence[str]]) -> bool:
    """Whether each id of the rows has the release's form; False without any id."""
    if match.source.id_pattern is None:
        return False
    places = [at for column, at in match.positions.items() if column in _NAMED]
    ids = {row[at] for row in rows for at in places if at < len(row)} - match.source.missing_names
    return bool(ids) and all(re.fullmatch(match.source.id_pattern, text) for text in ids)


#: The beginning of a text in UTF-16: a mark that is no UTF-8, and letters with a zero byte each.
_UTF_16 = re.compile("\ufffd{1,2}(([^\x00]\x00){2}|(\x00[^\x00]){2})")
#: The first characters of a document of JSON.
_JSON = ("{", "[")
_AS_JSON = "kubectl get nodes,pods -A -o json"
#: Files with the right data in another form: a pattern of the first line, the fault, the remedy.
_OTHER_FORMS = (
    (re.compile("apiVersion:|kind:|---"), "is YAML; what kubectl prints is read as JSON", _AS_JSON),
    (
        re.compile("(NAMESPACE +)?NAME +(READY|STATUS) "),
        "is a table that kubectl printed; it is read as JSON",
        _AS_JSON,
    ),
    (
        re.compile(r"(NAMESPACE +)?(POD +)?NAME +CPU\("),
        "is what kubectl top printed; it is read as JSON",
        "kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods, and the same of nodes",
    ),
    (
        re.compile("\ufffd\ufffd"),
        "is UTF-16, as > of Windows PowerShell writes it; it is read as UTF-8",
        "kubectl get nodes,pods -A -o json | Out-File -Encoding ascii FILE",
    ),
    (
        re.compile(r'Time,.*\{|[\[{].*"(frames|schema)": *[\[{]'),
        "is what Grafana exports; what Prometheus itself answers is read",
        "tracekit fetch prometheus URL FOLDER, or curl of /api/v1/query_range",
    ),
)


def _mismatch(header: tuple[str, ...], sources: Sequence[Source]) -> TracekitError:
    shown = ", ".join(name or "(unnamed)" for name in header[:12])
    best = _best(header, sources)
    for form, what, instead in _OTHER_FORMS:
        if form.match(",".join(header)):
            return TracekitError(what, hint=f"get it anew: {instead}")
    if best is None or best[0] * 2 < len(best[2].columns):
        tables = ", ".join(f"{fmt.file_stem}" for source in sources for fmt in source.formats)
        return TracekitError(
            f"not a table of a known trace; its first line is: {shown[:120]}",
            hint=f"of a cluster of your own, what {_AS_JSON} prints is read; of known traces the"
            f" tables {tables}; list them: tracekit list sources",
        )
    _, source, fmt = best
    present = _positions(fmt, header)
    wanted = [names[0] for column, names in fmt.columns.items() if column not in present]
    if fmt.unpivot is not None and not _wide(fmt, header):
        wanted.append(next(iter(fmt.unpivot.names)))
    if not wanted:
        twice = next((name for name in header if name and header.count(name) > 1), "")
        return MissingColumnError(
            f"{source.name} table {fmt.file_stem} with"
            f" {f'two columns {twice!r}' if twice else 'columns of another table'}; found: {shown}",
            hint=f"leave one out; {fmt.file_stem} has"
            f" {', '.join(names[0] for names in fmt.columns.values())}",
        )
    spare = [name for at, name in enumerate(header) if name and at not in present.values()]
    likely = [(want, nearest(want, spare)) for want in wanted]
    guesses = "; ".join(f"'{spelling}' may be '{want}'" for want, spelling in likely if spelling)
    return MissingColumnError(
        f"{source.name} table {fmt.file_stem} without column {', '.join(map(repr, wanted))};"
        f" found: {shown}",
        hint=f"{guesses or 'the file may be cut, or from another release'};"
        f" {fmt.file_stem} has {', '.join(names[0] for names in fmt.columns.values())}",
    )


def _best(header: tuple[str, ...], sources: Sequence[Source]) -> _Best | None:
    """The format that knows most columns of the header; the first of equals."""
    best: _Best | None = None
    for source in sources:
        for fmt in source.formats:
            matching = len(_positions(fmt, header))
            if best is None or matching > best[0]:
                best = (matching, source, fmt)
    return best
