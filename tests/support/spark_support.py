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

HOST = "127.0.0.1"
_START_S = 60.0
_CLASSES = "org.apache.spark.deploy"


def why_not() -> str | None:
    """Why Spark cannot be started here; None when it can."""
    try:
        import pyspark  # noqa: F401, PLC0415 - an optional extra
    except ImportError:
        return "pyspark is not installed (pip install 'tracekit[spark]')"
    java = shutil.which("java")
    if java is None:
        return "Java is not installed"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    return None if found and int(found[1]) >= 17 else "Java is older than 17"


@dataclass(frozen=True)
class SparkCluster:
    """A cluster that runs."""

    engine: str
    workers: list[subprocess.Popen[bytes]]

    def kill_worker(self) -> None:
        """Kill the last worker and its executor, as a machine that is lost."""
        worker = self.workers.pop()
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


@contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """A master and its workers of one core each, stopped at the end."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    engine = f"spark://{HOST}:{port}"
    with (folder / "spark.log").open("wb") as log:
        master = _start(["master.Master", "--port", str(port)], folder, log)
        started = [
            _start(
                ["worker.Worker", "-c", "1", "-m", "1g", "-d", str(folder / f"w{n}"), engine],
                folder,
                log,
            )
            for n in range(workers)
        ]
        running = [master, *started]
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
