"""A lease on an object store: one object names the writer, who renews it while it works.

An object store knows no lock that ends with its process. The writer renews the lease every
``RENEWED_S`` seconds; whose lease has not been put for ``LAPSES_S`` is taken to be gone. So is a
process of this machine that no longer runs.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tracekit.base.constants import GO_ON
from tracekit.base.errors import TracekitError
from tracekit.base.files.lock import LOCK
from tracekit.base.files.places import telling
from tracekit.intake.ingest.remote.put import OvertakenError, age_s, delete, get_bytes, put_over

RENEWED_S = 30.0
LAPSES_S = 300.0


class Lease:
    """The right to write to a store; see ``leased``."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._object = store / LOCK
        self._mine = b""
        self._put = threading.Lock()

    def take(self) -> None:
        """Raises TracekitError, naming the holder, when another process writes to the store."""
        before = get_bytes(self._object)
        if before is not None and not self._lapsed(before):
            raise self._busy(before)
        document = {"host": socket.gethostname(), "process": os.getpid(), "token": uuid.uuid4().hex}
        self._mine = json.dumps(document).encode()
        try:
            put_over(self._object, self._mine, before)
        except OvertakenError:
            raise self._busy(get_bytes(self._object) or b"{}") from None

    def check(self) -> None:
        """Renew the lease; raises TracekitError when another process has taken it."""
        try:
            with self._put:
                put_over(self._object, self._mine, self._mine)
        except OvertakenError:
            raise TracekitError(
                f"{self._store} was taken over by {_holder(get_bytes(self._object) or b'{}')} while"
                f" this process was silent for more than {LAPSES_S:.0f} s; it stopped writing",
                hint=GO_ON,
            ) from None

    def give_back(self) -> None:
        """Let others write."""
        with self._put:
            delete(self._object, self._mine)

    def _lapsed(self, before: bytes) -> bool:
        there = _read(before)
        if there.get("host") == socket.gethostname() and not _runs(int(there.get("process", 0))):
            return True
        return age_s(self._object, time.time()) > LAPSES_S

    def _busy(self, holder: bytes) -> TracekitError:
        return TracekitError(
            f"{self._store} is being written by {_holder(holder)}",
            hint="wait for it to finish, or stop it; the store is free at the latest"
            f" {LAPSES_S / 60:.0f} minutes after it was stopped",
        )


@contextmanager
def leased(store: Path) -> Iterator[Lease]:
    """Hold a store on an object store for writing, and keep the lease alive."""
    lease = Lease(store)
    lease.take()
    done = threading.Event()
    thread = threading.Thread(target=_renew, args=(lease, done), daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        done.set()
        thread.join()
        # an object store that is gone keeps the lease; it lapses
        with suppress(Exception), telling():
            lease.give_back()


def _renew(lease: Lease, done: threading.Event) -> None:
    """Renews the lease. An error here shows when the next file is committed, or passes."""
    while not done.wait(RENEWED_S):
        with suppress(Exception):
            lease.check()


def _read(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _holder(text: bytes) -> str:
    there = _read(text)
    if "process" not in there:
        return "another process"
    return f"process {there['process']} on {there.get('host')}"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return process > 0
