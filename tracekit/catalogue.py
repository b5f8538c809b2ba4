"""What there is of each kind, read from the registries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracekit.errors import TracekitError, nearest

Entry = Mapping[str, Any]


def listing(kind: str) -> Sequence[Entry]:
    """The entries of a kind, each with ``name``, ``title`` and what else describes it.

    Raises TracekitError for an unknown kind.
    """
    if kind not in KINDS:
        close = nearest(kind, KINDS)
        raise TracekitError(
            f"no kind '{kind}'; kinds: {', '.join(KINDS)}",
            hint=f"did you mean '{close}'?" if close else "for example: tracekit list queries",
        )
    return KINDS[kind]()


def _sources() -> list[Entry]:
    from tracekit.sources import all_sources

    return [
        {
            "name": name,
            "title": source.title,
            "url": source.url,
            "tables": {fmt.file_stem: fmt.table for fmt in source.formats},
        }
        for name, source in all_sources().items()
    ]


def _tables() -> list[Entry]:
    from tracekit.tables import all_tables

    return [
        {
            "name": name,
            "title": f"{table.title} ({table.grain})",
            "columns": [
                {"name": c.name, "type": c.sql_type, "unit": c.unit, "description": c.description}
                for c in table.columns
            ],
        }
        for name, table in all_tables().items()
    ]


def _queries() -> list[Entry]:
    from tracekit.sqlfiles import all_queries

    return [
        {
            "name": query.name,
            "title": query.title,
            "description": query.description,
            "params": [vars(param) for param in query.params],
            "columns": [
                {"name": c.name, "type": c.type, "description": c.description}
                for c in query.columns
            ],
        }
        for query in all_queries().values()
    ]


KINDS: Mapping[str, Callable[[], Sequence[Entry]]] = {
    "sources": _sources,
    "tables": _tables,
    "queries": _queries,
}
