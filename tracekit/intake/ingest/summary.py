"""The summary of an ingest, and the error for files that failed.

``is_made_up`` recognises trace files that ``tracekit synth`` made.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.constants import SYNTH_MANIFEST, SYNTH_SCHEMA, TRUTH
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.files.places import is_remote
from tracekit.base.opened import read_text
from tracekit.base.shown import Shown
from tracekit.base.words import counted
from tracekit.intake.read.discover import Discovery
from tracekit.store.folder import Manifest, SourceEntry

#: The number of folders above a source that may hold the planted truth.
_BELOW = 2


@dataclass(repr=False)
class IngestSummary(Shown):
    """What ``ingest`` did with each file, and doubts about the store.

    Attributes
    ----------
    ingested : the entries of files that were stored
    known : files whose content the store had, each with its name there
    passed_over : files that are no trace tables, each with the reason
    failed : files that could not be read, each with the error
    mended : files whose stored parts were damaged and are written again
    doubts : facts about implausible tables, and about use of unlisted nodes and containers
    anew : the file that required the whole store to be made again; empty for none
    lacks : the kinds of use that the store lacks, if files failed
    again : a user's own files that were stored beside an earlier version, whose rows stay
    replaced : files whose earlier version was replaced
    """

    store: Path
    ingested: list[SourceEntry] = field(default_factory=list)
    known: list[tuple[str, str]] = field(default_factory=list)
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, TracekitError]] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    doubts: tuple[Fact, ...] = ()
    anew: str = ""
    lacks: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)


def facts_of_files(summary: IngestSummary) -> Iterator[Fact]:
    """Yield a fact for each file that was not simply stored, such as a known or an empty one."""
    silent = [entry.file for entry in summary.ingested if not entry.rows_read]
    for because, names in (
        ("made_anew", [summary.anew] if summary.anew else []),
        ("other_contents", summary.again),
        ("replaced", summary.replaced),
        ("no_rows", silent),
        ("mended", summary.mended),
    ):
        yield from (Fact(kind="file", subject=name, because=because) for name in names)
    for name, same in summary.known:
        because = "already_stored" if same == name else "stored_as"
        yield Fact(kind="file", subject=name, because=because, about={"same_as": same})
    for name, reason in summary.passed_over:
        yield Fact(kind="file", subject=name, because="passed_over", about={"reason": reason})


def begun(store: Path, discovery: Discovery) -> IngestSummary:
    """Return the summary of an ingest before any file is stored."""
    return IngestSummary(
        store, passed_over=list(discovery.passed_over), failed=list(discovery.unreadable)
    )


def summary_line(summary: IngestSummary) -> str:
    """Return the numbers of stored rows, new files and broken rows in one line."""
    files = len({entry.file for entry in summary.ingested})
    rows = sum(entry.rows for entry in summary.ingested)
    rejected = sum(entry.rejected for entry in summary.ingested)
    broken = (
        f"; {rejected:,} broken row{'s are' if rejected != 1 else ' is'} kept apart"
        if rejected
        else ""
    )
    return f"{counted(rows, 'row')} of {counted(files, 'new file')} are stored{broken}"


def refused_now(manifest: Manifest, summary: IngestSummary) -> dict[str, str]:
    """Return the files that could not be read and that the store lacks, each with its fault.

    The manifest has such a list from earlier ingests. Files that fail now are added to it, unless
    this ingest stored no file. If this ingest also met files that the store has, it is taken to
    have met all files, and files that did not fail again leave the list.
    """
    failed = {name: error.what for name, error in summary.failed}
    now = failed if summary.ingested else {}
    taken = {entry.file for entry in manifest.sources}
    return {
        name: what
        for name, what in {**manifest.refused, **now}.items()
        if name not in taken and (name in failed or not summary.known)
    }


def failure(summary: IngestSummary) -> TracekitError:
    """Return the error that names the files that could not be read, and counts the others."""
    _, first = summary.failed[0]
    lacks = f"; the store lacks {', '.join(summary.lacks)}" if summary.lacks else ""
    if len(summary.failed) == 1:
        done = len({entry.file for entry in summary.ingested})
        others = f"; {counted(done, 'other file')} went in" if done else ""
        return TracekitError(f"{first.what}{others}{lacks}", hint=first.hint)
    names = ", ".join(name for name, _ in summary.failed[:5])
    if {error.what for _, error in summary.failed} == {first.what}:
        # files that are read together fail together, with the error of one of them
        return TracekitError(
            f"{first.what}; {names} are read together, and none of them was taken in{lacks}",
            hint=first.hint,
        )
    return TracekitError(
        f"{counted(len(summary.failed), 'file')} could not be read ({names}); the first:"
        f" {first.what}{lacks}",
        hint=first.hint,
    )


def is_made_up(source: Path) -> bool:
    """Return whether a source is synthetic: a generated trace, or a file or folder within one."""
    above = () if is_remote(source) else source.resolve().parents[:_BELOW]
    return any(_is_truth(folder.joinpath(TRUTH, SYNTH_MANIFEST)) for folder in (source, *above))


def _is_truth(about: Path) -> bool:
    if not about.is_file():
        return False
    try:
        document = json.loads(read_text(about))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("schema") == SYNTH_SCHEMA
