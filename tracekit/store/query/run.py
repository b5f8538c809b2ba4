"""Runs one query on a store, with its parameters checked against its header."""

from collections.abc import Mapping

import polars as pl

from tracekit.base.errors import TracekitError, nearest
from tracekit.store.folder import Store
from tracekit.store.query.database import Value
from tracekit.store.query.engine import open_database
from tracekit.store.sqlfiles import Described, SqlFile, get_query


def run(
    store: Store,
    name: str,
    params: Mapping[str, Value | str] | None = None,
    *,
    engine: str | None = None,
    own: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """The rows of a query of ``queries/`` (or of any SQL file) on a store.

    ``engine`` is what ``tracekit.store.query.engine.open_database`` understands; ``own`` are tables
    beside those of the store, by name.

    Raises TracekitError for an unknown query or parameter, or a value of the wrong type.
    """
    query = get_query(name)
    variables = bind(query, params or {})
    with open_database(store, engine) as database:
        for table, rows in (own or {}).items():
            database.add(table, rows)
        return database.frame(query.text, variables)


def bind(query: SqlFile, params: Mapping[str, Value | str]) -> dict[str, Value]:
    """The parameters as values of their declared types; unknown names are refused.

    DuckDB ignores a misspelt variable and takes the default, so the check must be here.
    """
    known = {param.name: param for param in query.params}
    bound: dict[str, Value] = {}
    for name, value in params.items():
        if name not in known:
            raise _unknown_param(query, name, list(known))
        bound[name] = _typed(query, known[name], value)
    return bound


def _unknown_param(query: SqlFile, name: str, known: list[str]) -> TracekitError:
    close = nearest(name, known)
    listed = f"its parameters: {', '.join(known)}" if known else "it has no parameters"
    return TracekitError(
        f"query '{query.name}' has no parameter '{name}'",
        hint=f"did you mean '{close}'? {listed}" if close else listed,
    )


def _typed(query: SqlFile, param: Described, value: Value | str) -> Value:
    try:
        if param.type in {"BIGINT", "INTEGER"}:
            return int(str(value))
        if param.type == "DOUBLE":
            return float(str(value))
    except ValueError:
        raise TracekitError(
            f"parameter {param.name} of query '{query.name}' must be {param.type}, got '{value}'",
            hint=param.description or None,
        ) from None
    if param.type == "BOOLEAN":
        return _boolean(query, param, value)
    return str(value)


def _boolean(query: SqlFile, param: Described, value: Value | str) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    word = str(value).lower()
    if word not in words:
        raise TracekitError(
            f"parameter {param.name} of query '{query.name}' must be true or false, got '{value}'"
        )
    return words[word]
