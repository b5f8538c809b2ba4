"""The SQL files of ``queries/``: found by path, described by their own headers.

A header is the comment block a file starts with::

    -- title: Use of each node
    -- description: One sentence or more; continued lines are indented.
    -- reads: node_usage_keyed, node_id
    -- param: min_samples BIGINT Fewer samples than this give no zone [samples].
    -- column: node VARCHAR The node.
    -- order: node
    -- run: duckdb catalog.duckdb -f queries/usage/node_profile.sql
"""

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.errors import TracekitError, unknown_name
from tracekit.base.folders import asset_dir
from tracekit.base.opened import is_file, read_text

_FIELD = re.compile(r"^-- (title|description|reads|param|column|order|run): (.*)$")
_CONTINUED = re.compile(r"^--   (.*)$")
_TYPED = re.compile(r"^(\w+)\s+([A-Z][A-Z0-9_]*(?:\[\])?)\s+(.+)$")
_USED_PARAM = re.compile(r"coalesce\(getvariable\('(\w+)'\)::(\w+),\s*([^()]+?)\)")


@dataclass(frozen=True)
class Described:
    """A parameter or an output column: name, DuckDB type and a sentence with its unit."""

    name: str
    type: str
    description: str
    default: str | None = None


@dataclass(frozen=True, kw_only=True)
class SqlFile:
    """A SQL file with one SELECT and the fields of its header."""

    name: str
    path: Path
    text: str
    title: str = ""
    description: str = ""
    reads: tuple[str, ...] = ()
    params: tuple[Described, ...] = ()
    columns: tuple[Described, ...] = ()
    order: tuple[str, ...] = ()
    falling: tuple[str, ...] = ()
    run: str = ""

    @property
    def view_name(self) -> str:
        """The name of the view that gives this query's rows."""
        return self.name.replace("/", "_")

    @property
    def select(self) -> str:
        """The statement without its closing semicolon."""
        return self.text.rstrip().removesuffix(";")


@dataclass
class _Header:
    values: dict[str, list[str]] = field(default_factory=dict)

    def one(self, name: str) -> str:
        return " ".join(self.values.get(name, []))


@functools.cache
def all_queries() -> dict[str, SqlFile]:
    """Return every file of ``queries/``, by name (``usage/node_profile``)."""
    folder = asset_dir("queries")
    paths = sorted(folder.glob("*/*.sql"))
    return {name: parse(name, path) for path in paths if (name := _name(path))}


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def default_of(query: str, param: str) -> float:
    """Return the default of a query's numeric parameter, for code that needs the same value."""
    params = get_query(query).params
    return float(next(one.default or "nan" for one in params if one.name == param))


def is_sql(name: str) -> bool:
    """Return whether a text is SQL: it has blanks, which no name or path of a query has."""
    return bool(re.search(r"\S\s+\S", name)) and not name.endswith(".sql")


def get_query(name: str) -> SqlFile:
    """Return the query with this name, in the SQL file at this path, or with this text as SQL.

    Raises TracekitError if the text is none of these.
    """
    if is_sql(name):
        return _of_text("SQL", Path("SQL"), name)
    queries = all_queries()
    plain = name.removesuffix(".sql")
    if plain in queries:
        return queries[plain]
    path = Path(name)
    if path.suffix == ".sql":
        if not is_file(path):
            raise TracekitError(f"no such SQL file: {name}", hint="give a path that exists")
        return parse(path.stem, path)
    raise unknown_name("query", name, queries, listing="tracekit list queries")


def parse(name: str, path: Path) -> SqlFile:
    """Parse a SQL file. A user's own file needs no header."""
    return _of_text(name, path, read_text(path))


def _of_text(name: str, path: Path, text: str) -> SqlFile:
    header = _read_header(text)
    used = _used(text)
    defaults = {param: default for param, _, default in used}
    params = [_described(path, "param", line) for line in header.values.get("param", [])]
    return SqlFile(
        name=name,
        path=path,
        text=text,
        title=header.one("title"),
        description=header.one("description"),
        reads=_words(header.one("reads")),
        params=tuple(Described(p.name, p.type, p.description, defaults.get(p.name)) for p in params)
        or tuple(Described(n, t, "", d) for n, t, d in dict.fromkeys(used)),
        columns=tuple(_described(path, "column", line) for line in header.values.get("column", [])),
        order=tuple(word.split()[0] for word in _words(header.one("order"))),
        falling=tuple(
            word.split()[0] for word in _words(header.one("order")) if _falls(word, path)
        ),
        run=header.one("run"),
    )


def _used(text: str) -> list[tuple[str, str, str]]:
    """Name, type and default of each use; written STRING, as Spark wants a length of VARCHAR."""
    return [
        (name, "VARCHAR" if kind == "STRING" else kind, default)
        for name, kind, default in _USED_PARAM.findall(text)
    ]


def _read_header(text: str) -> _Header:
    header = _Header()
    last = ""
    for line in text.splitlines():
        entry = _FIELD.match(line)
        more = _CONTINUED.match(line)
        if entry:
            last = entry[1]
            header.values.setdefault(last, []).append(entry[2].strip())
        elif more and last:
            header.values[last][-1] += f" {more[1].strip()}"
        elif not line.startswith("--"):
            break
    return header


def _described(path: Path, kind: str, line: str) -> Described:
    typed = _TYPED.match(line)
    if not typed:
        raise TracekitError(
            f"{path.name}: header line '-- {kind}: {line[:60]}' is not name, TYPE, sentence",
            hint=f"write for example: -- {kind}: samples BIGINT Rows of the node [samples].",
        )
    return Described(typed[1], typed[2], typed[3])


def _falls(word: str, path: Path) -> bool:
    """Whether a column of the order falls: ``cpu_mean DESC``."""
    direction = word.split()[1:]
    if direction not in ([], ["DESC"], ["ASC"]):
        raise TracekitError(
            f"{path.name}: header line '-- order:' has '{word}', expected a column's name, or a"
            " column's name and DESC",
            hint="write for example: -- order: cpu_mean DESC, node",
        )
    return direction == ["DESC"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def in_reading_order(queries: dict[str, SqlFile]) -> list[SqlFile]:
    """Return the queries, each after the queries that it reads.

    Raise TracekitError for queries that read each other in a circle.
    """
    by_view = {query.view_name: query for query in queries.values()}
    ordered: dict[str, SqlFile] = {}

    def visit(query: SqlFile, path: tuple[str, ...]) -> None:
        if query.name in path:
            raise TracekitError(f"queries read each other in a circle: {' > '.join(path)}")
        for name in query.reads:
            if name in by_view:
                visit(by_view[name], (*path, query.name))
        ordered.setdefault(query.name, query)

    for query in queries.values():
        visit(query, ())
    return list(ordered.values())
