"""What an ingest did, the line that says it, and the error where files failed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.shown import Shown
from tracekit.base.words import counted
from tracekit.intake.read.discover import Discovery
from tracekit.store.folder import Manifest, SourceEntry


@dataclass(repr=False)
class IngestSummary(Shown):
    """What an ingest did: files taken in, files known already, files passed over or failed.

    ``mended`` names known files whose stored parts were damaged, and are written again. ``doubts``
    are facts of what the tables of the store cannot mean as they stand, and of recorded use of
    names that no file lists. ``lacks`` is the use that is not recorded, where files were refused.
    ``again`` are files of somebody's own tables of which the store had one of the same name with
    other contents: its rows stay. Those of ``replaced`` are gone.
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
    """What became of single files, a fact each; none of those that came in as usual."""
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


def begun(store: Path, found: Discovery) -> IngestSummary:
    """The summary of an ingest that has found its files and read none of them yet."""
    return IngestSummary(store, passed_over=list(found.passed_over), failed=list(found.unreadable))


def summary_line(summary: IngestSummary) -> str:
    """What was taken in, in one line."""
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
    """The files that were refused and are not in the store, each with what was wrong.

    An ingest that took nothing in leaves the store as it was. One that met files of the store again
    has met all that there are: what it did not refuse is there no more.
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
    """The error that names the files that could not be read, and what else went in."""
    _, first = summary.failed[0]
    lacks = f"; the store lacks {', '.join(summary.lacks)}" if summary.lacks else ""
    if len(summary.failed) == 1:
        done = len({entry.file for entry in summary.ingested})
        kept = f"; {counted(done, 'other file')} went in" if done else ""
        return TracekitError(f"{first.what}{kept}{lacks}", hint=first.hint)
    names = ", ".join(name for name, _ in summary.failed[:5])
    if {error.what for _, error in summary.failed} == {first.what}:
        # files that are read together fail together, for what is wrong in one of them
        return TracekitError(
            f"{first.what}; {names} are read together, and none of them was taken in{lacks}",
            hint=first.hint,
        )
    return TracekitError(
        f"{counted(len(summary.failed), 'file')} could not be read ({names}); the first:"
        f" {first.what}{lacks}",
        hint=first.hint,
    )
