"""An S3-compatible server on the loopback, started on a free port, then stopped."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tracekit.base.files.places import filesystem, place, within

HOST = "127.0.0.1"
BUCKET = "bucket"
_START_S = 60.0


def why_not() -> str | None:
    """Why there can be no object store here; None when there can."""
    for name, package in (("s3fs", "s3fs"), ("upath", "universal-pathlib"), ("moto", "moto")):
        if importlib.util.find_spec(name) is None:
            return f"{package} is not installed (pip install 'tracekit[s3]' 'moto[server]')"
    return None


@dataclass
class ObjectStore:
    """A server that runs; ``environment`` is what a process needs to find it."""

    process: subprocess.Popen[bytes]
    environment: dict[str, str]

    def kill(self) -> None:
        """End it as a machine that is lost."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """A server with one bucket, which the environment of this process names meanwhile."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    environment = {
        "AWS_ENDPOINT_URL": f"http://{HOST}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    store = ObjectStore(process, environment)
    try:
        _await(environment["AWS_ENDPOINT_URL"], folder / "server.log")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            _forget_connections()
            filesystem(place(f"s3://{BUCKET}")).mkdir(BUCKET)
            yield store
    finally:
        if process.poll() is None:
            store.kill()
        _forget_connections()


def put_folder(folder: Path, target: Path) -> None:
    """Put every file of a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            filesystem(target).put_file(str(path), within(target / name))


def objects(folder: Path) -> dict[str, bytes]:
    """The bytes of every object under a place."""
    names = filesystem(folder).find(within(folder))
    return {
        str(name).removeprefix(f"{within(folder)}/"): filesystem(folder).cat_file(name)
        for name in names
    }


def _forget_connections() -> None:
    """Clients are kept for each URL; those of another server's are of no use."""
    import s3fs  # noqa: PLC0415 - optional

    s3fs.S3FileSystem.clear_instance_cache()


def _await(url: str, log: Path) -> None:
    end = time.monotonic() + _START_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - our own server
        except OSError:
            if time.monotonic() > end:
                raise TimeoutError(log.read_text(errors="replace")[-2000:]) from None
            time.sleep(0.1)
        else:
            return
