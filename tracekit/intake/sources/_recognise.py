"""Which release and table a file belongs to: by its header, and by its ids where headers agree."""

import re
from collections.abc import Iterable, Mapping, Sequence

from tracekit.base.errors import TracekitError, nearest
from tracekit.intake.sources._release import Match, Source, TableFormat

_NAMED = ("node", "container", "service")
_ZIP_MAGIC = "PK\x03\x04"
_PAGES = ("<html", "<!doctype html", "<?xml")
_Best = tuple[int, Source, TableFormat]


class MissingColumnError(TracekitError):
    """A file that is nearly a trace table: most columns are there, some are not."""


def recognise_among(
    sources: Sequence[Source], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> Match | TracekitError:
    """The match of a header among releases, or the error that says why there is none."""
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
        said = re.sub(r"\s*<[^>]*>\s*", " ", ",".join(names)).strip()
        return TracekitError(
            f"a web page and no data; it says {said[:80]!r}" if said else "a web page and no data",
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


def utf_16() -> TracekitError:
    """What is said of a file in UTF-16."""
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
    found: dict[str, int] = {}
    for column, spellings in fmt.columns.items():
        at = next((header.index(name) for name in spellings if name in header), None)
        if at is not None:
            found[column] = at
    return found


def _wide(fmt: TableFormat, header: tuple[str, ...]) -> dict[str, int]:
    names = fmt.unpivot.names if fmt.unpivot is not None else {}
    return {measure: header.index(name) for name, measure in names.items() if name in header}


def _left_over(
    source: Source, fmt: TableFormat, header: tuple[str, ...], positions: Mapping[str, int]
) -> set[str]:
    """Columns that the format leaves unread although the release knows them: another table's."""
    known = {name for f in source.formats for names in f.columns.values() for name in names}
    known |= {name for f in source.formats if f.unpivot for name in f.unpivot.names}
    known -= {*fmt.ignored, *(fmt.unpivot.names if fmt.unpivot is not None else ())}
    return {name for at, name in enumerate(header) if at not in positions.values()} & known


def _ids_agree(match: Match, rows: Sequence[Sequence[str]]) -> bool:
    """Whether every id of the rows is spelled as the release spells ids; no without any id."""
    if match.source.id_pattern is None:
        return False
    places = [at for column, at in match.positions.items() if column in _NAMED]
    ids = {row[at] for row in rows for at in places if at < len(row)} - match.source.missing_names
    return bool(ids) and all(re.fullmatch(match.source.id_pattern, text) for text in ids)


#: A mark that is no UTF-8, and letters with a zero byte each, after or before.
_UTF_16 = re.compile("\ufffd{1,2}(([^\x00]\x00){2}|(\x00[^\x00]){2})")
#: How a document of JSON begins.
_JSON = ("{", "[")
_AS_JSON = "kubectl get nodes,pods -A -o json"
#: What the first line shows of files that hold the right thing in another form, and what helps.
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
        known = ", ".join(f"{fmt.file_stem}" for source in sources for fmt in source.formats)
        return TracekitError(
            f"not a table of a known trace; its first line is: {shown[:120]}",
            hint=f"of a cluster of your own, what {_AS_JSON} prints is read; of known traces the"
            f" tables {known}; list them: tracekit list sources",
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
    guesses = "; ".join(f"'{near}' may be '{want}'" for want, near in likely if near)
    return MissingColumnError(
        f"{source.name} table {fmt.file_stem} without column {', '.join(map(repr, wanted))};"
        f" found: {shown}",
        hint=f"{guesses or 'the file may be cut, or from another release'};"
        f" {fmt.file_stem} has {', '.join(names[0] for names in fmt.columns.values())}",
    )


def _best(header: tuple[str, ...], sources: Sequence[Source]) -> _Best | None:
    """The format that most columns of the header belong to; the first of equals."""
    best: _Best | None = None
    for source in sources:
        for fmt in source.formats:
            found = len(_positions(fmt, header))
            if best is None or found > best[0]:
                best = (found, source, fmt)
    return best
