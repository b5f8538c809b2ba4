"""The searches, one per file; a file's name is the search's."""

import functools
import sys
from typing import Any

from tracekit import registry
from tracekit.errors import unknown_name
from tracekit.replay.optimize.search import Search


@functools.cache
def all_searches() -> dict[str, type[Search[Any]]]:
    """Every search, by name."""
    base: type[Any] = Search
    return registry.subclasses(sys.modules[__name__], base)


def get_search(name: str) -> type[Search[Any]]:
    """The search of that name; TracekitError that lists the near ones."""
    known = all_searches()
    if name not in known:
        raise unknown_name("search", name, known, listing="tracekit list searches")
    return known[name]
