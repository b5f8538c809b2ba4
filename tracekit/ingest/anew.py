"""A store that is made anew of all its files, where a new one changes what the others mean.

A list of a cluster says what has left since the list before. What is stored of that one is not true
any more, so all files are read together once more, into a folder beside the store that then takes
its place. Until then the store is as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tracekit.errors import TracekitError
from tracekit.files.lock import LOCK
from tracekit.files.replacing import replaced_folder, taken_over
from tracekit.read.discover import TraceFile
from tracekit.sources import ClusterMatch
from tracekit.store.folder import others
from tracekit.store.manifest import DERIVED, Manifest, SourceEntry

Made = TypeVar("Made")
#: What finds the entry of a file whose very bytes are stored.
Known = Callable[[TraceFile], SourceEntry | None]


def late_list(files: Sequence[TraceFile], manifest: Manifest, known: Known) -> TraceFile | None:
    """The first new file that changes what another in the store means; None where none does.

    Raises
    ------
    TracekitError
        Where a file of the store is not among these, so that it cannot be made anew.
    """
    late = next((file for file in files if _changes(file, manifest) and known(file) is None), None)
    if late is None:
        return None
    there = {entry.sha256 for entry in map(known, files) if entry is not None}
    gone = [
        entry.file
        for entry in manifest.sources
        if entry.release != DERIVED and entry.sha256 not in there
    ]
    if gone:
        count = len(set(gone))
        more = f" and {count - 1} more" if count > 1 else ""
        raise TracekitError(
            f"{late.name} lists the cluster again: what has left since is only seen by reading it"
            f" together with the files of the store, of which {gone[0]}{more}"
            f" {'is' if count == 1 else 'are'} not here",
            hint="put all of them into one folder and ingest that; the store is then made anew",
        )
    return late


def replaced_by(folder: Path, make: Callable[[Path], Made]) -> Made:
    """Have a store made beside this one, which is locked, and put in its place.

    What somebody has put into the folder besides stays there.

    Parameters
    ----------
    make : called with the folder of the new store

    Raises
    ------
    TracekitError
        Where the store is a mount point.
    """
    with replaced_folder(folder) as fresh:
        made = make(fresh)
        taken_over(others(folder), fresh)
        # the lock that is held stands in both, so that nobody gets into either
        os.link(folder / LOCK, fresh / LOCK)
    return made


def _changes(file: TraceFile, manifest: Manifest) -> bool:
    """Whether it is read together with files of which some are stored."""
    match = file.match
    if not isinstance(match, ClusterMatch) or not match.file.together:
        return False
    return any(
        entry.release == match.source.name and entry.rows
        for table in ("container", "node")
        for entry in manifest.parts(table)
    )
