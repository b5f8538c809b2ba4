"""Which files of one ingest are taken in before others, as these are held against them.

Whoever writes tables of nodes and containers beside what another source says of them is held to
that source's word, so that one comes first. Of somebody's own tables those that list nodes and
containers with all they have come before the store's own tables, which state it piece by piece.
"""

from collections.abc import Sequence

from tracekit.read.discover import TraceFile
from tracekit.sources import ClusterMatch
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
