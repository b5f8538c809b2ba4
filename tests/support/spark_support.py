"""A standalone Spark cluster on the loopback: a master and its workers, started, then stopped."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from unittest.mock import patch

HOST = "127.0.0.1"
#: Set in every process of a worker: executors, and what they start.
ON_EXECUTOR = "TRACEKIT_ON_EXECUTOR"
_START_S = 60.0
_EXECUTOR_MIB = 512
# Each JVM lives for a minute: its second compiler and its parallel collector would cost more
# than they give, and six of them share the cores.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CLASSES = "org.apache.spark.deploy"
# Some thousand rows are read: to compile each plan, in the driver and again in every executor,
# would cost more than to interpret it.
_DEFAULTS = f"""
spark.executor.memory {_EXECUTOR_MIB}m
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
"""


def why_not() -> str | None:
    """Why Spark cannot be started here; None when it can."""
    try:
        import pyspark  # noqa: F401, PLC0415 - an optional extra
    except ImportError:
        return "pyspark is not installed (pip install 'tracekit[spark]')"
    java = shutil.which("java")
    if java is None:
        return "Java is not installed"
    replayed = subprocess.run(
        [java, "-version"], capture_output=True, text=True, check=False
    ).stderr
    match = re.search(r'version "(\d+)', replayed)
    return None if match and int(match[1]) >= 17 else "Java is older than 17"


@dataclass(frozen=True)
class SparkCluster:
    """A cluster that runs."""

    engine: str
    #: The folder that a worker's executors run in, and its process.
    workers: dict[Path, subprocess.Popen[bytes]]

    def kill_worker(self, folder: Path | None = None) -> None:
        """Kill a worker and its executor, as a machine that is lost; any one if none is named."""
        worker = self.workers.pop(folder or next(iter(self.workers)))
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


@contextmanager
def spark_cluster(folder: Path, workers: int) -> Iterator[SparkCluster]:
    """A master and its small workers of one core each, stopped at the end.

    While it runs, a session of this process asks for executors that fit those workers.
    """
    small = {"SPARK_CONF_DIR": str(_conf(folder)), "JDK_JAVA_OPTIONS": _JAVA_OPTIONS}
    with patch.dict(os.environ, small), _running(folder, workers) as cluster:
        yield cluster


def _conf(folder: Path) -> Path:
    made = folder / "conf"
    made.mkdir()
    (made / "spark-defaults.conf").write_text(_DEFAULTS)
    return made


@contextmanager
def _running(folder: Path, workers: int) -> Iterator[SparkCluster]:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    engine = f"spark://{HOST}:{port}"
    with (folder / "spark.log").open("wb") as log:
        master = _start(["master.Master", "--port", str(port)], folder, log)
        offer = ["worker.Worker", "-c", "1", "-m", f"{_EXECUTOR_MIB}m"]
        started = {
            place: _start([*offer, "-d", str(place), engine], folder, log)
            for place in (folder / f"w{n}" for n in range(workers))
        }
        running = [master, *started.values()]
        try:
            _await(folder / "spark.log", workers)
            yield SparkCluster(engine, started)
        finally:
            for process in running:
                _stop(process)


def _start(words: list[str], folder: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    import pyspark  # noqa: PLC0415 - an optional extra

    home = Path(pyspark.__path__[0])
    name, *rest = words
    return subprocess.Popen(
        [
            str(home / "bin" / "spark-class"),
            f"{_CLASSES}.{name}",
            "--host",
            HOST,
            "--webui-port",
            "0",
            *rest,
        ],
        cwd=folder,
        stdout=log,
        stderr=log,
        env={
            **os.environ,
            "SPARK_LOCAL_IP": HOST,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_HOME": str(home),
            "SPARK_DAEMON_MEMORY": "128m",
            ON_EXECUTOR: "1",
        },
        start_new_session=True,
    )


def _await(log: Path, workers: int) -> None:
    end = time.monotonic() + _START_S
    while log.read_text(errors="replace").count("Registering worker") < workers:
        if time.monotonic() > end:
            raise TimeoutError(log.read_text(errors="replace")[-2000:])
        time.sleep(0.2)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
    process.wait(timeout=30)
