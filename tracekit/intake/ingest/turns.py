"""Which files of one ingest are taken in before others, as these are held against them.

Whoever writes tables of nodes and containers beside what another source says of them is held to
that source's word, so that one comes first. Of somebody's own tables those that list nodes and
containers with all they have come before the store's own tables, which state it piece by piece.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracekit.base.files.places import is_remote
from tracekit.intake.ingest.mend import facts
from tracekit.intake.read.discover import TraceFile
from tracekit.intake.sources import ClusterMatch
from tracekit.store.doubts import base_sizes
from tracekit.store.folder import Store
from tracekit.store.stored_rows import OWN, STATED


def in_turns(files: Sequence[TraceFile]) -> list[list[TraceFile]]:
    """The files of each turn, in their order; those of a turn know what all turns before stored."""
    turns: list[list[TraceFile]] = [[], [], []]
    for file in files:
        turns[_turn(file)].append(file)
    return [some for some in turns if some] or [[]]


def _turn(file: TraceFile) -> int:
    match = file.match
    if match.source.name != OWN or not isinstance(match, ClusterMatch):
        return 0
    return 2 if match.file.word in STATED else 1


def with_facts(
    some: Sequence[TraceFile], every: Sequence[TraceFile], store: Store, folder: Path
) -> Iterator[TraceFile]:
    """Some of the files, each knowing what is stored of nodes, and how much is new with all."""
    sizes = () if is_remote(store.path) else base_sizes(store)
    releases = {file.match.source.name for file in some}
    stored = {release: facts(every, store, folder, release) for release in releases}
    known = {entry.file for entry in store.manifest.sources}
    new_bytes = sum(file.size_bytes for file in every if file.name not in known)
    for file in some:
        yield dataclasses.replace(
            file,
            stored_sizes=sizes,
            stored=stored[file.match.source.name],
            together_bytes=new_bytes,
        )
