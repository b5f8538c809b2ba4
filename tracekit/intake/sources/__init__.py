"""Sources: one file each says how the files of a trace, or of one's own cluster, are read.

``released`` holds the traces that somebody has published, ``own`` the formats in which one's own
cluster comes. Files that are CSV with a header are described (``TableFormat``) and read by compiled
code; all others are read by a function of the source (``ClusterFile``).
"""

import functools
import importlib
from collections.abc import Sequence
from dataclasses import replace

from tracekit.base import registry
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.words import plural
from tracekit.intake.sources._cluster import (
    Batch,
    Broken,
    ClusterFile,
    ClusterMatch,
    ClusterSource,
    Head,
    Opened,
    Read,
    cluster_match,
)
from tracekit.intake.sources._recognise import (
    MissingColumnError,
    recognise_among,
    utf_16,
)
from tracekit.intake.sources._release import (
    Archives,
    Match,
    Source,
    TableFormat,
    Unpivot,
)
from tracekit.intake.sources._stood import STOOD, row_text
from tracekit.store.tables import all_tables

__all__ = [
    "STOOD",
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


@functools.cache
def all_sources() -> dict[str, Source]:
    """Every source tracekit reads, by name, and those of installed packages."""
    rooms = (importlib.import_module(f"{__name__}.{room}") for room in ("own", "released"))
    found = [registry.instances(room, Source) for room in rooms]
    own = {name: source for some in found for name, source in some.items()}
    return registry.with_brought(own, "tracekit.intake.sources", _is_source, "source")


def _is_source(name: str, brought: object) -> bool:
    return isinstance(brought, Source) and brought.name == name


def is_published(name: str) -> bool:
    """Whether a release is a trace that somebody has published, not one's own cluster."""
    return name in registry.instances(importlib.import_module(f"{__name__}.released"), Source)


def recognise(
    header: Sequence[str], *, release: str = "auto", rows: Sequence[Sequence[str]] = ()
) -> Match | TracekitError:
    """The release and table a header belongs to, or the error that says why none fits.

    Column order does not matter, nor does an unnamed index column. The error is returned, not
    raised: in a folder, a file that is no trace table at all is passed over.

    Parameters
    ----------
    rows : sequence of sequences of str
        The fields of some of the first rows: where two releases have the same header, their ids
        tell which one it is. Without rows, or with none that decides, it is the older release.
    """
    return recognise_among(_of(release), header, rows)


def _of(release: str) -> list[Source]:
    return list(all_sources().values()) if release == "auto" else [get_source(release)]


def recognise_by_reader(head: Head, *, release: str) -> ClusterMatch | None:
    """The source, and the kind of file of it, that reads a file by code; None for no such file."""
    for source in _of(release):
        if isinstance(source, ClusterSource):
            for file in source.files:
                if file.recognises(head):
                    return cluster_match(source, file)
    return None


def lacking(head: Head, *, release: str) -> TracekitError | None:
    """Why a file named like a table of one's own is none; None for any other file.

    A Parquet file named like a table of the store has a header of its own: it is another table.
    """
    for source in _of(release):
        for file in source.files if isinstance(source, ClusterSource) else ():
            missing = file.lacks(head)
            if missing:
                found = _no_table(head, file, missing)
                other = bool(head.columns) and file.word in all_tables()
                return TracekitError(found.what, hint=found.hint) if other else found
    return None


def _no_table(head: Head, file: ClusterFile, missing: tuple[str, ...]) -> MissingColumnError:
    """What a file is that has the name of a table, and not its columns."""
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
    found = ", ".join(head.fields()[:12])[:120]
    # a number names no column
    if not head.columns and any(_is_number(one) for one in head.fields()):
        return MissingColumnError(
            f"{of}: its first line is no header: {found}; expected {_example(missing)}",
            hint="write the names of its columns as its first line",
        )
    return MissingColumnError(
        f"{of}, for want of the {plural(len(missing), 'column')} {', '.join(missing)};"
        f" found: {found}",
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
    """The same start of a file, had it commas in place of another separator."""
    return replace(head, start=head.start.replace(separator.encode(), b","))


def get_source(name: str) -> Source:
    """The release of that name; raises TracekitError for an unknown one."""
    if name not in all_sources():
        close = nearest(name, all_sources())
        raise TracekitError(
            f"no trace release named '{name}'; known: {', '.join(all_sources())}",
            hint=f"did you mean '{close}'?" if close else "list them: tracekit list sources",
        )
    return all_sources()[name]
