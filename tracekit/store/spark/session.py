"""A Spark session for ``spark:local[2]``, ``spark://HOST:PORT`` or another master."""

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
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tracekit.base.constants import GO_ON
from tracekit.base.crew import LostWorkerError, OnProgress, Task, unheard
from tracekit.base.errors import TracekitError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

#: This machine, the engine where none is named.
DUCKDB = "duckdb"
PREFIXES = ("spark:", "spark://")
OLDEST_JAVA = 17
_CONNECT_S = 5.0
_DEFAULT_PORT = 7077
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
    """Whether an engine's name asks for Spark."""
    return engine is not None and engine.startswith(PREFIXES)


def check_engine(engine: str | None) -> None:
    """Raise TracekitError for an engine that is neither this machine's nor Spark's."""
    if engine not in {None, DUCKDB} and not is_spark(engine):
        raise TracekitError(
            f"no engine '{engine}'", hint="engines: duckdb, spark:local[2], spark://HOST:PORT"
        )


def master_of(engine: str) -> str:
    """Spark's name of a master: ``spark://HOST:PORT``, or the text behind ``spark:``."""
    if engine.startswith("spark://"):
        return engine
    master = engine.removeprefix("spark:")
    known = r"(local(\[(\d+|\*)(,\s*\d+)?\])?|yarn|k8s://.+|local-cluster\[.+\])"
    if not re.fullmatch(known, master):
        raise TracekitError(
            f"no Spark master '{master}'",
            hint="write spark:local[2], spark://HOST:PORT, spark:yarn or spark:k8s://URL",
        )
    return master


def open_session(engine: str) -> SparkSession:
    """The session of this process on that master; made at the first call, the same afterwards.

    Settings of the user's own (``spark-defaults.conf``, ``PYSPARK_SUBMIT_ARGS``) hold where
    tracekit sets nothing.

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
    asked = [java, "-version"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = _JAVA_VERSION.search(said)
    if found is None or int(found[1]) < OLDEST_JAVA:
        version = found[1] if found else "unknown"
        raise TracekitError(f"engine {engine}: Java {version} is too old", hint=hint)


def _host_port(master: str) -> tuple[str, int]:
    """Host and port of the first of a standalone master's addresses; ``("", 0)`` for another."""
    if not master.startswith("spark://"):
        return "", 0
    host, _, port = master.removeprefix("spark://").split(",")[0].rpartition(":")
    return (host, int(port)) if host and port.isdigit() else (host or port, _DEFAULT_PORT)


def _check_reachable(master: str) -> None:
    """Ask before Spark does: it would try for a minute and say little."""
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
    """Let the Java side, started inside, write to a file what it would tell the terminal."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    log = Path(tempfile.mkdtemp(prefix="tracekit-spark-")) / "spark.log"
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        with warnings.catch_warnings():
            # pyspark warns of a newer pandas, which is not used here
            warnings.simplefilter("ignore")
            yield log
    finally:
        os.dup2(kept, 2)
        os.close(kept)


# Executors of a Spark cluster as those who do the tasks of an ingest, or any other task.

S = TypeVar("S")


class SparkCrew:
    """Does each task as a Spark job of one task; Spark does it again when an executor is lost.

    Files that a task reads or writes must lie where driver and executors find them under the same
    path, and tracekit must be installed on every executor.
    """

    def __init__(self, engine: str, size: int | None = None) -> None:
        self._context: SparkContext = open_session(engine).sparkContext
        self.size = size or max(1, self._context.defaultParallelism)
        self._threads = ThreadPoolExecutor(self.size)

    def submit(self, task: Task[S], on_progress: OnProgress = unheard) -> Future[S]:
        """Do the task as soon as an executor is free; its progress is told when it is done."""
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
        kind, value, told = pickle.loads(answer)  # noqa: S301 - from our own executors
        if kind == "error":
            raise value
        for progress in told:
            on_progress(*progress)
        result: S = value
        return result

    def close(self) -> None:
        """Stop at once, whatever is under way."""
        self._context.cancelAllJobs()
        self._threads.shutdown(cancel_futures=True)


def crew_of(engine: str | None, size: int | None = None) -> SparkCrew | None:
    """The executors of a Spark engine; None for work on this machine.

    Raises TracekitError for an engine that is not known or not to be had.
    """
    if is_spark(engine):
        return SparkCrew(str(engine), size)
    check_engine(engine)
    return None


def _run(sent: bytes) -> bytes:
    """On an executor: do the task; an expected error is an answer, not a failure to try again."""
    told: list[tuple[Any, ...]] = []
    task = pickle.loads(sent)  # noqa: S301 - from our own driver
    try:
        result = task.run(lambda *progress: told.append(progress))
    except TracekitError as error:
        return pickle.dumps(("error", error, []))
    return pickle.dumps(("result", result, told))


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lost = [line for line in lines if "ExecutorLost" in line or "Error:" in line]
    return (lost or lines or [type(error).__name__])[0][:200]
