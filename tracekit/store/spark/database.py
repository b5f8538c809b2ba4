"""A store's views in a Spark session: the interface of ``tracekit.query.Database``, on Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.parameters import spell
from tracekit.store.folder import Store
from tracekit.store.spark.session import open_session
from tracekit.store.sqlfiles import SqlFile
from tracekit.store.views import LISTED, base_views, check_free, query_views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Value = str | int | float | bool

_VIEW = "CREATE VIEW "


class SparkDatabase:
    """A store's views in a session of their own; use as a context manager.

    Parameters
    ----------
    engine : str
        See ``tracekit.store.spark.session.open_session``. Every executor must be able to read the
        store's folder under the same path.
    """

    def __init__(self, store: Store, engine: str) -> None:
        self._session: SparkSession = open_session(engine).newSession()
        self._files: dict[str, list[Path]] = {}
        statements = [*base_views(store, relative=False, scan=self._scan), *query_views()]
        self._waiting = {_name(text): text.removeprefix(_VIEW) for text in statements}
        self._declare({})

    @property
    def cores(self) -> int:
        """How many tasks can run at once."""
        return int(self._session.sparkContext.defaultParallelism)

    @property
    def lanes(self) -> int:
        """How many queries to have under way: one, as views are declared for each."""
        return 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.catalog.clearCache()

    def frame(self, sql: str, variables: Mapping[str, Value] | None = None) -> pl.DataFrame:
        """Run one statement and return its rows; raises TracekitError when SQL is wrong."""
        from pyspark.errors import PySparkException  # noqa: PLC0415 - optional

        self._declare(variables or {})
        try:
            self._prepare(sql)
            found = pl.from_arrow(self._session.sql(sql.rstrip().removesuffix(";")).toArrow())
        except PySparkException as error:
            raise _as_error(error) from error
        assert isinstance(found, pl.DataFrame)  # noqa: S101 - a table, not one column
        return found

    def add(self, name: str, rows: pl.DataFrame) -> None:
        """A table of one's own; raises TracekitError where the store has one of that name."""
        check_free(name, self._waiting)
        self._session.createDataFrame(rows.to_arrow()).createOrReplaceTempView(name)

    def keep(self, query: SqlFile) -> pl.DataFrame:
        """Run a query and keep its rows in place of its view, for the queries that build on it."""
        self._declare({})
        self._prepare(query.select)
        self._waiting.pop(query.view_name, None)
        kept = self._session.sql(query.select).cache()
        kept.createOrReplaceTempView(query.view_name)
        order = ", ".join(
            f"{column}{' DESC' if column in query.falling else ''} NULLS LAST"
            for column in query.order
        )
        return self.frame(f"SELECT * FROM {query.view_name} ORDER BY {order}")

    def interrupt(self) -> None:
        """Nothing is under way in other threads."""

    def rows(self, sql: str, variables: Mapping[str, Value] | None = None) -> list[dict[str, Any]]:
        """The rows of one statement as dictionaries."""
        return self.frame(sql, variables).to_dicts()

    def scalar(self, sql: str, variables: Mapping[str, Value] | None = None) -> Any:
        """The one value of a statement with one row and one column."""
        return self.frame(sql, variables).item()

    def _declare(self, variables: Mapping[str, Value]) -> None:
        """Make ``getvariable`` a function, as Spark has none: NULL for what is not set."""
        cases = " ".join(
            f"WHEN '{name}' THEN '{_quoted(spell(value))}'" for name, value in variables.items()
        )
        body = f"CASE name {cases} END" if cases else "CAST(NULL AS STRING)"
        self._session.sql(
            "CREATE OR REPLACE TEMPORARY FUNCTION getvariable(name STRING)"
            f" RETURNS STRING RETURN {body}"
        )

    def _scan(self, files: list[Path]) -> str:
        """The name of a view on Parquet files, made when something reads it."""
        name = f"scan_{len(self._files)}"
        self._files[name] = files
        return name

    def _prepare(self, sql: str) -> None:
        """Make the views that a statement may speak of: each takes Spark a moment.

        They stand in an order in which each comes after those it reads.
        """
        needed = self._needed(sql)
        for name in [name for name in self._files if name in needed]:
            files = self._files.pop(name)
            self._session.read.parquet(*map(spark_path, files)).createOrReplaceTempView(name)
        for name in [name for name in self._waiting if name in needed]:
            text = self._waiting.pop(name).replace("AS VARCHAR", "AS STRING")
            self._session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {text}")

    def _needed(self, sql: str) -> set[str]:
        """The words of a statement, and of the views among them; a column may be called as one."""
        found: set[str] = set()
        texts = [sql]
        while texts:
            words = set(re.findall(r"\w+", texts.pop())) - found
            found |= words
            texts += [self._waiting[name] for name in words if name in self._waiting]
        return found


def spark_path(file: Path) -> str:
    """A file as Spark names it, whose client for S3 has a protocol of its own."""
    return re.sub(r"^s3:", "s3a:", str(file.resolve()))


def _name(statement: str) -> str:
    return statement.removeprefix(_VIEW).split(maxsplit=1)[0]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _as_error(error: Exception) -> TracekitError:
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
    return TracekitError(f"SQL on Spark: {said}", hint=LISTED)
