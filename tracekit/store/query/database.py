"""A connection to a store with all its views. This is the only module that reads with DuckDB.

It uses only calls that DuckDB 1.x and 2.x share, so that a new major version changes one file.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.base.errors import TracekitError, nearest, system_error
from tracekit.base.files.places import is_remote, snapshot, store_error
from tracekit.store.folder import Store
from tracekit.store.sqlfiles import SqlFile
from tracekit.store.tables import all_tables
from tracekit.store.views import LISTED, base_views, check_free, query_views, quoted, quoted_plain

#: Types that polars lacks, or would take for others.
_WITHOUT_LIKE = re.compile(r"\b(INTERVAL|UNION|UHUGEINT|BIGNUM|VARINT|BIT)\b")
_EMPTY = re.compile(r"\bSTRUCT(\(\s*\)|$)")
#: The years that Python's times have, as days since 1970.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
#: A time in nanoseconds cannot be so far away.
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


def frame_of(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Return the rows of a DuckDB relation as a polars frame.

    Raises
    ------
    TracekitError
        For two columns of one name, a type that polars lacks, and a time outside the years 1 to
        9999, such as infinity.
    """
    twice = [name for name, count in Counter(relation.columns).items() if count > 1]
    if twice:
        raise TracekitError(
            f"two columns are called '{twice[0]}', expected a name for each",
            hint="name what you want of them: SELECT a.x AS first, b.x AS second",
        )
    for name, kind in zip(relation.columns, relation.types, strict=True):
        if match := _WITHOUT_LIKE.search(str(kind)):
            raise _as_text(name, f"is {match[0]}, a type that no frame has")
        if _EMPTY.search(str(kind)):
            raise _as_text(name, "is a record without fields, a type that no file has")
    table = relation.to_arrow_table()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if any(_beyond(part) for part in _parts(column)):
            raise _as_text(name, "holds a time beyond the years 1 to 9999")
    try:
        return pl.DataFrame(table)
    except pl.exceptions.PolarsError as error:
        raise TracekitError(
            f"the rows are no frame: {next(iter(str(error).splitlines()), '')}",
            hint="cast what is unusual: CAST(x AS VARCHAR)",
        ) from error


def _as_text(name: str, what: str) -> TracekitError:
    return TracekitError(
        f"column '{name}' {what}", hint=f'cast it: CAST("{name}" AS VARCHAR) AS "{name}"'
    )


def _parts(column: Any) -> Iterator[Any]:
    """A column, or the values in its lists, records and maps, at any depth."""
    kind = column.type
    if isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        yield from _parts(pc.list_flatten(column))
    elif isinstance(kind, pa.StructType):
        for at in range(kind.num_fields):
            yield from _parts(pc.struct_field(column, at))
    elif isinstance(kind, pa.MapType):
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            yield from _parts(chunk.keys)
            yield from _parts(chunk.items)
    else:
        yield column


def _beyond(values: Any) -> bool:
    """Whether some time is outside the years 1 to 9999; False for other types."""
    kind = values.type
    if pa.types.is_date32(kind):
        per_day, whole = 1, pa.int32()
    elif pa.types.is_timestamp(kind) and kind.unit in _PER_DAY:
        per_day, whole = _PER_DAY[kind.unit], pa.int64()
    else:
        return False
    ends = pc.min_max(values.cast(whole)).as_py()
    if ends["min"] is None:
        return False
    return bool(ends["min"] < _FIRST_DAY * per_day or ends["max"] >= (_LAST_DAY + 1) * per_day)


_MADE = re.compile(r"CREATE VIEW (\w+) AS ")
_WORD = re.compile(r"\w+")
#: Words of statements that list views.
_OF_ALL = frozenset({"show", "information_schema", "sqlite_master"})
_ALONE = frozenset({"describe", "desc"})
_OF_ALL_START = ("duckdb_", "pragma_", "pg_")


class Views:
    """Views of a database that are created when a statement first reads them; thread-safe.

    Parameters
    ----------
    statements : iterable of str
        ``CREATE VIEW`` statements, each after the views that it reads.
    """

    def __init__(self, statements: Iterable[str]) -> None:
        matches = ((_MADE.match(statement), statement) for statement in statements)
        self._left = {made[1]: statement for made, statement in matches if made}
        self._lock = threading.Lock()

    def __contains__(self, name: object) -> bool:
        return name in self._left

    def make_for(self, con: duckdb.DuckDBPyConnection, sql: str) -> None:
        """Create the views that a statement may read."""
        words = _words(sql)
        asks_for_all = words <= _ALONE or not words.isdisjoint(_OF_ALL)
        if asks_for_all or any(word.startswith(_OF_ALL_START) for word in words):
            self.make_all(con)
            return
        with self._lock:
            self._make(con, words & self._left.keys())

    def make_all(self, con: duckdb.DuckDBPyConnection) -> bool:
        """Create all views that do not exist. Return False if all existed."""
        with self._lock:
            left = set(self._left)
            self._make(con, left)
            return bool(left)

    def _make(self, con: duckdb.DuckDBPyConnection, named: set[str]) -> None:
        """Create views and the views that they read; other threads wait meanwhile."""
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


Value = str | int | float | bool

#: The second wall around SQL of others, behind ``tracekit.store.query.run``.
_WALL = (
    "SET allowed_directories = ['{}', '{}']",
    "SET enable_external_access = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
)


def connection(store: Store) -> duckdb.DuckDBPyConnection:
    """Open a database in memory with the views of a store."""
    con = _empty(store, ())
    for statement in _views(store):
        con.execute(statement)
    return con


def _empty(store: Store, settings: Iterable[str]) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    if is_remote(store.path):
        con.register_filesystem(snapshot(store.path))
    where = store.path.resolve()
    # functions that a SELECT may call would have DuckDB write its log and its profile to files
    for setting in (*settings, "SET lock_configuration = true"):
        con.execute(setting.format(quoted(where), quoted_plain(where)))
    return con


def _views(store: Store) -> Iterator[str]:
    yield from base_views(store, relative=False)
    yield from query_views()


class Database:
    """A DuckDB connection with a store's views and no access to other files; context manager."""

    def __init__(self, store: Store) -> None:
        self._con = _empty(store, _WALL)
        self._views = Views(_views(store))
        self._under_way: set[duckdb.DuckDBPyConnection] = set()

    @property
    def cores(self) -> int:
        """The number of threads that answer a query."""
        return int(self.scalar("SELECT current_setting('threads')"))

    @property
    def lanes(self) -> int:
        """The number of queries to run at a time: two, or one on a single thread."""
        return min(2, self.cores)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._con.close()

    def frame(self, sql: str, variables: Mapping[str, Value] | None = None) -> pl.DataFrame:
        """Run one statement and return its rows. Raise TracekitError when SQL is wrong."""
        with self._cursor() as cursor:
            for name, value in (variables or {}).items():
                cursor.execute(f"SET VARIABLE {name} = ?", [value])
            relation = self._bound(cursor, sql)
            if relation is None:
                raise TracekitError("the SQL gives no rows", hint="write one SELECT statement")
            return frame_of(relation)

    def add(self, name: str, rows: pl.DataFrame) -> None:
        """Add a table for queries. Raise TracekitError if the store has a table of that name."""
        check_free(name, self._views)
        with self._cursor() as cursor:
            cursor.register("given", rows.to_arrow())
            cursor.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')

    def keep(self, query: SqlFile) -> pl.DataFrame:
        """Run a query, return its rows, and make its view give these rows from now on."""
        with self._cursor() as cursor:
            self._views.make_for(cursor, query.select)
            self._replace_view(cursor, query, query.select)
        return self.frame(f"SELECT * FROM {query.view_name}")

    def put(self, query: SqlFile, rows: pl.DataFrame) -> None:
        """Make the view of a query give ``rows`` instead of running the query."""
        with self._cursor() as cursor:
            cursor.register("given", rows.to_arrow())
            self._replace_view(cursor, query, "SELECT * FROM given")

    def interrupt(self) -> None:
        """Stop the running queries of other threads, which then raise an error."""
        for cursor in list(self._under_way):
            cursor.interrupt()

    def rows(self, sql: str, variables: Mapping[str, Value] | None = None) -> list[dict[str, Any]]:
        """Return the rows of one statement as dictionaries."""
        return self.frame(sql, variables).to_dicts()

    def scalar(self, sql: str, variables: Mapping[str, Value] | None = None) -> Any:
        """Return the one value of a statement with one row and one column."""
        return self.frame(sql, variables).item()

    def _bound(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyRelation | None:
        """The result of a statement; the views that it reads are created first."""
        self._views.make_for(cursor, sql)
        try:
            return cursor.sql(sql)
        except duckdb.CatalogException:
            # a name that stands in no word of the statement, or one that resembles a view's
            if not self._views.make_all(cursor):
                raise
            return cursor.sql(sql)

    def _replace_view(self, cursor: duckdb.DuckDBPyConnection, query: SqlFile, select: str) -> None:
        """Store rows in a table that the view reads; other threads always find the view."""
        name = query.view_name
        self._views.make_for(cursor, name)
        cursor.execute(f"CREATE OR REPLACE TABLE kept_{name} AS {select}")
        cursor.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM kept_{name}")

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for one statement, so that several threads can run queries."""
        cursor = self._con.cursor()
        self._under_way.add(cursor)
        try:
            yield cursor
        except (duckdb.ParserException, duckdb.CatalogException) as error:
            raise as_error(error) from None  # a fault of the SQL: no file need be checked
        except duckdb.Error as error:
            raise store_error(error) or _refused(error) or as_error(error) from error
        finally:
            self._under_way.discard(cursor)
            cursor.close()


def _refused(error: duckdb.Error) -> OSError | None:
    """The system's refusal to read a file, which is no fault of the statement or the data."""
    return system_error(error) if isinstance(error, duckdb.IOException) else None


#: Other names of tables.
_ALSO = {"pod": "container", "pods": "container"}
_UNKNOWN_TABLE = re.compile(r"Table with name (\w+) does not exist")


def _table_meant(message: str) -> str | None:
    """The table that an unknown name most likely means; tables come before views."""
    match = _UNKNOWN_TABLE.search(message)
    name = match[1].lower() if match else ""
    close = _ALSO.get(name) or nearest(name, all_tables(), cutoff=0.8)
    return f'Did you mean "{close}"?' if close else None


def as_error(error: duckdb.Error) -> TracekitError:
    """Return an error of DuckDB as a TracekitError of one line with a hint."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    hint = _table_meant(lines[0]) or next(
        (line for line in lines[1:] if line.startswith(("Candidate", "Did you"))), None
    )
    return TracekitError(f"SQL: {lines[0]}", hint=hint or LISTED)
