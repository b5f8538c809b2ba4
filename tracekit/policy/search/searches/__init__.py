"""The searches, one per file; a file's name is the search's."""

import functools
import sys
from typing import Any

from tracekit.base import parameters, registry
from tracekit.policy.search.running import Search


@functools.cache
def all_searches() -> dict[str, type[Search]]:
    """Every search, by name."""
    base: type[Any] = Search
    return registry.subclasses(sys.modules[__name__], base)


def get_search(name: str) -> type[Search]:
    """The search of that name; TracekitError that lists the near ones."""
    return registry.pick(all_searches(), name, "search", listing="tracekit list searches")


def parse_search(text: str) -> Search:
    """The search that ``NAME[param=value,...]`` spells."""
    name, given = parameters.split(text)
    made: Search = parameters.build(get_search(name), name, given)
    return made
