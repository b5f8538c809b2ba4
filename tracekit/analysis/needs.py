"""Which base tables a query cannot do without."""

from collections.abc import Mapping

from tracekit.store.folder import Store
from tracekit.store.sqlfiles import SqlFile
from tracekit.store.tables import all_tables

#: Queries of this subject speak about whatever tables there are.
ABOUT_ANY_TABLE = "quality/"
#: Use in its other form.
_OTHER_FORM = {"container_usage": "container_amount", "container_amount": "container_usage"}


def tables_needed(query: SqlFile, queries: Mapping[str, SqlFile]) -> tuple[str, ...]:
    """Base tables a query reads, itself or through the views it builds on, sorted."""
    by_view = {other.view_name: other for other in queries.values()}
    needed: set[str] = set()
    waiting = [query]
    while waiting:
        one = waiting.pop()
        if one.name.startswith(ABOUT_ANY_TABLE):
            continue
        waiting += [by_view[name] for name in one.reads if name in by_view]
        bases = {name.removesuffix("_keyed").removesuffix("_steps") for name in one.reads}
        needed |= bases & all_tables().keys()
    return tuple(sorted(needed))


def tables_missing(store: Store, needed: tuple[str, ...]) -> tuple[str, ...]:
    """The base tables among these that have no row in the store.

    What reads use both as amounts and as shares can do with either.
    """
    there = {name for name in needed if any(part.rows for part in store.manifest.parts(name))}
    lacking = (name for name in needed if name not in there)
    return tuple(name for name in lacking if _OTHER_FORM.get(name) not in there)


def needs_a_choice(query: SqlFile) -> bool:
    """Whether the query is about one entity that the user names."""
    return any(param.type == "VARCHAR" and param.default == "''" for param in query.params)
