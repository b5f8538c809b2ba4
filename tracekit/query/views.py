"""The views of a connection, each made when a statement names it.

DuckDB binds a view when it makes it: all of them take a fifth of a second, of which most questions
need a few hundredths.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable

import duckdb

_MADE = re.compile(r"CREATE VIEW (\w+) AS ")
_WORD = re.compile(r"\w+")
#: Words of statements that ask which views there are, or make up their names.
_OF_ALL = frozenset({"show", "information_schema", "sqlite_master", "query", "query_table"})
_ALONE = frozenset({"describe", "desc"})
_OF_ALL_START = ("duckdb_", "pragma_", "pg_")


class Views:
    """Views that are made in time for the statements that read them; for several threads.

    Parameters
    ----------
    statements : iterable of str
        ``CREATE VIEW`` statements, each after those that it reads.
    """

    def __init__(self, statements: Iterable[str]) -> None:
        found = ((_MADE.match(statement), statement) for statement in statements)
        self._left = {made[1]: statement for made, statement in found if made}
        self._lock = threading.Lock()

    def make_for(self, con: duckdb.DuckDBPyConnection, sql: str) -> None:
        """Make the views that a statement may read."""
        words = _words(sql)
        asks_for_all = words <= _ALONE or not words.isdisjoint(_OF_ALL)
        if asks_for_all or any(word.startswith(_OF_ALL_START) for word in words):
            self.make_all(con)
            return
        with self._lock:
            self._make(con, words & self._left.keys())

    def make_all(self, con: duckdb.DuckDBPyConnection) -> bool:
        """Make all that are not there yet; False where none was left."""
        with self._lock:
            left = set(self._left)
            self._make(con, left)
            return bool(left)

    def _make(self, con: duckdb.DuckDBPyConnection, named: set[str]) -> None:
        """Make these and those that they read; other threads find none half made."""
        wanted: set[str] = set()
        while named:
            wanted |= named
            read = set().union(*(_words(self._left[name]) for name in named))
            named = read & self._left.keys() - wanted
        for name in [name for name in self._left if name in wanted]:
            con.execute(self._left[name])
            del self._left[name]


def _words(sql: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(sql)}
