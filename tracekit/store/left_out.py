"""What kubectl printed and the store has not: pods and nodes, and what is neither for certain."""

from collections.abc import Iterable, Iterator

from tracekit.sources.unreadable import PARTIAL_DEFECT, UNREADABLE_DEFECT, WATCH_DEFECT
from tracekit.store.folder import Store
from tracekit.store.manifest import SourceEntry
from tracekit.words import counted

#: The source whose objects these are.
_OURS = "kubernetes"


def told(store: Store) -> Iterator[str]:
    """Sentences on objects that broke a rule, and are missing from all that follows."""
    for table, what in (("node", "node"), ("container", "pod")):
        entries = [one for one in store.manifest.parts(table) if one.release == _OURS]
        unread, ended = (_count(entries, one) for one in (UNREADABLE_DEFECT, WATCH_DEFECT))
        if count := sum(one.rejected for one in entries) - unread - ended:
            are, they = ("is", "it states") if count == 1 else ("are", "they state")
            yield (
                f"{counted(count, what)} {are} left out, as {they} what cannot be used: see the"
                f" rejects of {table}"
            )
        yield from _of_nothing(unread, ended, table)
    used = [one for one in store.manifest.parts("container_amount") if one.release == _OURS]
    if warned := _count(used, PARTIAL_DEFECT):
        yield (
            f"answers of Prometheus came with {counted(warned, 'warning')}, so that data may be"
            " missing in them: ask for them anew; see the rejects of container_amount"
        )


def _of_nothing(unread: int, ended: int, table: str) -> Iterator[str]:
    """Sentences on what is rejected and is no object."""
    if unread:
        one = unread == 1
        yield (
            f"{unread:,} {'entry is' if one else 'entries are'} left out, as"
            f" {'it is' if one else 'they are'} cut off or no JSON of an object, so that it is not"
            f" known of what {'it is' if one else 'they are'}: see the rejects of {table}"
        )
    if ended:
        yield (
            f"a watch log holds {counted(ended, 'error')} of the watch: what changed between an"
            f" error and the next event is not in it; see the rejects of {table}"
        )


def _count(entries: Iterable[SourceEntry], defect: str) -> int:
    return sum(one.rows for entry in entries for one in entry.defects if one.defect == defect)
