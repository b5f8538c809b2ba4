"""PySpark as an engine: a session, a store's views in it, and executors that run tasks.

pyspark is an optional extra; it is imported when a session is opened.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import pickle
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import polars as pl

from tracekit.base.constants import GO_ON
from tracekit.base.crew import LostWorkerError, OnProgress, Task, unheard
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import spell
from tracekit.store.folder import Store
from tracekit.store.sqlfiles import SqlFile
from tracekit.store.views import LISTED, base_views, check_free, query_views

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

S = TypeVar("S")
Value = str | int | float | bool

#: The default engine: DuckDB on this machine.
DUCKDB = "duckdb"
PREFIXES = ("spark:", "spark://")
OLDEST_JAVA = 17
_CONNECT_S = 5.0
_DEFAULT_PORT = 7077
_VIEW = "CREATE VIEW "
_JAVA_VERSION = re.compile(r'version "(\d+)')

_SETTINGS = {
    "spark.app.name": "tracekit",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # an identifier such as "table" is quoted as in DuckDB
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
    # executors import nothing from the folder that they are started in
    "spark.executorEnv.PYTHONSAFEPATH": "1",
    # results come over as Arrow, and counts of rows as 64-bit numbers
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
}


def is_spark(engine: str | None) -> bool:
    """Return whether the engine of this name is Spark."""
    return engine is not None and engine.startswith(PREFIXES)


def check_engine(engine: str | None) -> None:
    """Raise TracekitError for an engine that is neither DuckDB nor Spark."""
    if engine not in {None, DUCKDB} and not is_spark(engine):
        raise TracekitError(
            f"no engine '{engine}'", hint="engines: duckdb, spark:local[2], spark://HOST:PORT"
        )


def master_of(engine: str) -> str:
    """Return the Spark master of an engine: ``spark:local[2]`` gives ``local[2]``."""
    if engine.startswith("spark://"):
        return engine
    master = engine.removeprefix("spark:")
    masters = r"(local(\[(\d+|\*)(,\s*\d+)?\])?|yarn|k8s://.+|local-cluster\[.+\])"
    if not re.fullmatch(masters, master):
        raise TracekitError(
            f"no Spark master '{master}'",
            hint="write spark:local[2], spark://HOST:PORT, spark:yarn or spark:k8s://URL",
        )
    return master


def open_session(engine: str) -> SparkSession:
    """Return the Spark session of this process, which the first call opens.

    The user's settings (``spark-defaults.conf``, ``PYSPARK_SUBMIT_ARGS``) apply, except for those
    that tracekit sets itself.

    Raises
    ------
    TracekitError
        When pyspark or Java is missing, Java is too old, or the master does not answer.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise TracekitError(
            f"engine {engine} needs pyspark, which is not installed",
            hint="pip install 'tracekit[spark]'",
        )
    master = master_of(engine)
    _check_java(engine)
    _check_reachable(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _log_aside() as log:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - half a second, and optional

        active = SparkSession.getActiveSession()
        if active is not None and active.sparkContext.master != master:
            raise TracekitError(
                f"this process is connected to {active.sparkContext.master}, not to {master}",
                hint="one master per process: use another process, or stop the session",
            )
        try:
            session = (
                SparkSession.builder.master(master).config(map=_settings(master)).getOrCreate()
            )
        except Exception as error:
            raise TracekitError(
                f"no Spark session on {master}: {str(error).splitlines()[0]}",
                hint=f"what Spark said is in {log}",
            ) from error
    session.sparkContext.setLogLevel("OFF")
    return session


def _settings(master: str) -> dict[str, bool | float | int | str | None]:
    settings: dict[str, bool | float | int | str | None] = dict(_SETTINGS)
    host = _host_port(master)[0]
    if master.startswith("local") or host in {"127.0.0.1", "localhost", "::1"}:
        # what runs on this machine alone is not to be seen from outside
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        # Spark's own default of 200 is for clusters; so few cores would only be kept busy with it
        settings |= {"spark.sql.shuffle.partitions": "4"}
    return settings


def _check_java(engine: str) -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    hint = f"install Java {OLDEST_JAVA} or newer, or set JAVA_HOME"
    if java is None or not Path(java).exists():
        raise TracekitError(f"engine {engine} needs Java, which was not found", hint=hint)
    command = [java, "-version"]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stderr  # noqa: S603
    match = _JAVA_VERSION.search(output)
    version = match[1] if match else "unknown"
    if match is None or int(version) < OLDEST_JAVA:
        raise TracekitError(f"engine {engine}: Java {version} is too old", hint=hint)


def _host_port(master: str) -> tuple[str, int]:
    """Host and port of a standalone master's first address; ``("", 0)`` for other masters."""
    if not master.startswith("spark://"):
        return "", 0
    host, _, port = master.removeprefix("spark://").split(",")[0].rpartition(":")
    return (host, int(port)) if host and port.isdigit() else (host or port, _DEFAULT_PORT)


def _check_reachable(master: str) -> None:
    """Raise TracekitError at once if nothing answers; Spark itself would try for a minute."""
    host, port = _host_port(master)
    if not host:
        return
    try:
        socket.create_connection((host, port), timeout=_CONNECT_S).close()
    except OSError as error:
        raise TracekitError(
            f"no Spark master answers at {host}:{port}: {error.strerror or error}",
            hint="start one (docs/how-to/on-a-cluster.md), or use spark:local[2]",
        ) from error


@contextmanager
def _log_aside() -> Iterator[Path]:
    """Send what Java prints to a file; Java must be started inside this context."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    log = Path(tempfile.mkdtemp(prefix="tracekit-spark-")) / "spark.log"
    sys.stderr.flush()
    terminal = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        with warnings.catch_warnings():
            # pyspark warns of a newer pandas, which is not used here
            warnings.simplefilter("ignore")
            yield log
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


class SparkCrew:
    """Workers on Spark: each task runs as a Spark job, repeated if its executor is lost.

    Tracekit must be installed on every executor. The driver and every executor must reach the files
    of a task under the same path.
    """

    def __init__(self, engine: str, size: int | None = None) -> None:
        self._context: SparkContext = open_session(engine).sparkContext
        self.size = size or max(1, self._context.defaultParallelism)
        self._threads = ThreadPoolExecutor(self.size)

    def submit(self, task: Task[S], on_progress: OnProgress = unheard) -> Future[S]:
        """Run a task when an executor is free. Its progress is reported at its end."""
        return self._threads.submit(self._do, task, on_progress)

    def _do(self, task: Task[S], on_progress: OnProgress) -> S:
        sent = pickle.dumps(task)
        try:
            (answer,) = self._context.parallelize([sent], 1).map(_run).collect()
        except Exception as error:
            raise LostWorkerError(
                f"Spark gave a task up: {_reason(error)}",
                hint=GO_ON,
            ) from error
        kind, value, reports = pickle.loads(answer)  # noqa: S301 - from our own executors
        if kind == "error":
            raise value
        for progress in reports:
            on_progress(*progress)
        result: S = value
        return result

    def close(self) -> None:
        """Stop at once, and cancel running tasks."""
        self._context.cancelAllJobs()
        self._threads.shutdown(cancel_futures=True)


def crew_of(engine: str | None, size: int | None = None) -> SparkCrew | None:
    """Return workers on a Spark engine, or None for an engine on this machine.

    Raises TracekitError for an unknown engine, and for a Spark that cannot be used.
    """
    if is_spark(engine):
        return SparkCrew(str(engine), size)
    check_engine(engine)
    return None


def _run(sent: bytes) -> bytes:
    """Run a task on an executor; an expected error is returned, so that Spark does not retry."""
    reports: list[tuple[Any, ...]] = []
    task = pickle.loads(sent)  # noqa: S301 - from our own driver
    try:
        result = task.run(lambda *progress: reports.append(progress))
    except TracekitError as error:
        return pickle.dumps(("error", error, []))
    return pickle.dumps(("result", result, reports))


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lost = [line for line in lines if "ExecutorLost" in line or "Error:" in line]
    return (lost or lines or [type(error).__name__])[0][:200]


class SparkDatabase:
    """A context manager with the views of a store in a Spark session.

    Parameters
    ----------
    engine : str
        See ``tracekit.store.spark.open_session``. Every executor must be able to read the
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
        """The number of queries at a time: one, because each query declares views."""
        return 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.catalog.clearCache()

    def frame(self, sql: str, variables: Mapping[str, Value] | None = None) -> pl.DataFrame:
        """Run one statement and return its rows. Raise TracekitError when SQL is wrong."""
        from pyspark.errors import PySparkException  # noqa: PLC0415 - optional

        self._declare(variables or {})
        try:
            self._prepare(sql)
            table = pl.from_arrow(self._session.sql(sql.rstrip().removesuffix(";")).toArrow())
        except PySparkException as error:
            raise _as_error(error) from error
        assert isinstance(table, pl.DataFrame)  # noqa: S101 - a table, not one column
        return table

    def add(self, name: str, rows: pl.DataFrame) -> None:
        """Add a table. Raise TracekitError if the store has a table of that name."""
        check_free(name, self._waiting)
        self._session.createDataFrame(rows.to_arrow()).createOrReplaceTempView(name)

    def keep(self, query: SqlFile) -> pl.DataFrame:
        """Run a query, return its rows, and let its view give cached rows from now on."""
        self._declare({})
        self._prepare(query.select)
        self._waiting.pop(query.view_name, None)
        rows = self._session.sql(query.select).cache()
        rows.createOrReplaceTempView(query.view_name)
        order = ", ".join(
            f"{column}{' DESC' if column in query.falling else ''} NULLS LAST"
            for column in query.order
        )
        return self.frame(f"SELECT * FROM {query.view_name} ORDER BY {order}")

    def interrupt(self) -> None:
        """Do nothing, because no other thread runs a query."""

    def rows(self, sql: str, variables: Mapping[str, Value] | None = None) -> list[dict[str, Any]]:
        """Return the rows of one statement as dictionaries."""
        return self.frame(sql, variables).to_dicts()

    def scalar(self, sql: str, variables: Mapping[str, Value] | None = None) -> Any:
        """Return the one value of a statement with one row and one column."""
        return self.frame(sql, variables).item()

    def _declare(self, variables: Mapping[str, Value]) -> None:
        """Define the function ``getvariable``, which Spark lacks; unset variables are NULL."""
        cases = " ".join(
            f"WHEN '{name}' THEN '{_quoted(spell(value))}'" for name, value in variables.items()
        )
        body = f"CASE name {cases} END" if cases else "CAST(NULL AS STRING)"
        self._session.sql(
            "CREATE OR REPLACE TEMPORARY FUNCTION getvariable(name STRING)"
            f" RETURNS STRING RETURN {body}"
        )

    def _scan(self, files: list[Path]) -> str:
        """The name of a view of Parquet files; a statement that reads the view creates it."""
        name = f"scan_{len(self._files)}"
        self._files[name] = files
        return name

    def _prepare(self, sql: str) -> None:
        """Create the views that a statement may read, in an order that respects dependencies."""
        needed = self._needed(sql)
        for name in [name for name in self._files if name in needed]:
            files = self._files.pop(name)
            self._session.read.parquet(*map(spark_path, files)).createOrReplaceTempView(name)
        for name in [name for name in self._waiting if name in needed]:
            text = self._waiting.pop(name).replace("AS VARCHAR", "AS STRING")
            self._session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {text}")

    def _needed(self, sql: str) -> set[str]:
        """The words of a statement, and of all views whose names are among the words."""
        needed: set[str] = set()
        texts = [sql]
        while texts:
            words = set(re.findall(r"\w+", texts.pop())) - needed
            needed |= words
            texts += [self._waiting[name] for name in words if name in self._waiting]
        return needed


def spark_path(file: Path) -> str:
    """Return the path of a file for Spark, whose S3 client has the protocol ``s3a``."""
    return re.sub(r"^s3:", "s3a:", str(file.resolve()))


def _name(statement: str) -> str:
    return statement.removeprefix(_VIEW).split(maxsplit=1)[0]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _as_error(error: Exception) -> TracekitError:
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
    return TracekitError(f"SQL on Spark: {reason}", hint=LISTED)
