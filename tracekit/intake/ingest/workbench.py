"""Ingest into an object store: this machine reads and sorts files, and puts finished parts there.

The workbench is a temporary folder on this machine with the store's manifest and ids. The parts,
rejects and new ids of a file are put before the manifest. So a reader of the store sees a file
whole or not at all.
"""

import dataclasses
import json
import os
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tracekit.base.constants import GO_ON
from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import LOCK
from tracekit.base.files.places import explained_store_errors, filesystem, within
from tracekit.store.broken_rows import write_quality
from tracekit.store.folder import (
    NAME,
    Manifest,
    Store,
    dimension_paths,
    part_path,
    read_manifest,
    write_manifest,
)
from tracekit.store.quantities import quantities, together

#: A large file is uploaded in pieces of this size, and so many pieces at once.
_PIECE_BYTES = 16 << 20
_AT_ONCE = 2


class OvertakenError(Exception):
    """The error that another writer has changed an object since this process read it."""


def put_file(source: Path, target: Path) -> None:
    """Copy a file of this machine to an object store; an earlier object is replaced."""
    options = {"chunksize": _PIECE_BYTES, "max_concurrency": _AT_ONCE} if _is_s3(target) else {}
    filesystem(target).put_file(str(source), within(target), **options)


def get_file(source: Path, target: Path) -> None:
    """Copy an object of an object store to a file of this machine."""
    target.parent.mkdir(parents=True, exist_ok=True)
    filesystem(source).get_file(within(source), str(target))


def get_bytes(target: Path) -> bytes | None:
    """Return the bytes of an object, or None if there is no object."""
    try:
        data: bytes = filesystem(target).cat_file(within(target))
    except FileNotFoundError as error:
        if "bucket" in str(error).lower() and "exist" in str(error):
            raise
        return None
    return data


def put_over(target: Path, data: bytes, before: bytes | None) -> None:
    """Write an object if its present bytes are ``before``; None stands for no object.

    A server with conditional writes refuses a write after another writer's. With other servers a
    write of another writer in the short time between may be lost.

    Raises
    ------
    OvertakenError
        When another writer has changed the object.
    """
    condition = _condition(target, before)
    if get_bytes(target) != before:
        raise OvertakenError
    try:
        _put(target, data, **condition)
    except OSError:
        # if the answer to a put is lost, the repeated put is refused although the object is ours
        if get_bytes(target) != data:
            raise OvertakenError from None
    else:
        if get_bytes(target) != data:
            raise OvertakenError


def delete(target: Path, mine: bytes) -> None:
    """Delete an object if its bytes are still ``mine``."""
    if get_bytes(target) == mine:
        with suppress(FileNotFoundError):
            filesystem(target).rm_file(within(target))


def age_s(target: Path, now_s: float) -> float:
    """Return the seconds from an object's last change to ``now_s``, this machine's time."""
    put = filesystem(target).modified(within(target))
    return now_s - float(put.timestamp())


def _put(target: Path, data: bytes, **options: Any) -> None:
    filesystem(target).pipe_file(within(target), data, **options)


def _condition(target: Path, before: bytes | None) -> dict[str, Any]:
    """The options of a put that is refused if the object has changed since it was read."""
    if before is None:
        return {"mode": "create"}
    if not _is_s3(target):
        return {}
    try:
        return {"IfMatch": filesystem(target).info(within(target))["ETag"]}
    except FileNotFoundError:
        raise OvertakenError from None


def _is_s3(target: Path) -> bool:
    protocol = filesystem(target).protocol
    return "s3" in ((protocol,) if isinstance(protocol, str) else protocol)


# A lease on an object store: one object names the writing process.
#
# An object store has no lock that ends with its process. The writer puts the lease again every
# ``RENEWED_S`` seconds. A lease that is older than ``LAPSES_S`` has lapsed, and so has the lease of
# a process of this machine that no longer runs.


RENEWED_S = 30.0
LAPSES_S = 300.0


class Lease:
    """A lock on a store on an object store, which lets one process write to it.

    It is an object that names the process; ``leased`` takes, renews and releases it.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self._object = store / LOCK
        self._mine = b""
        self._put = threading.Lock()

    def take(self) -> None:
        """Take the lease. Raise TracekitError, with the holder, if another process has it."""
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
        """Renew the lease. Raise TracekitError when another process has taken it."""
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
        """Delete the lease, so that other processes may write."""
        with self._put:
            delete(self._object, self._mine)

    def _lapsed(self, before: bytes) -> bool:
        holder = _read(before)
        if holder.get("host") == socket.gethostname() and not _runs(int(holder.get("process", 0))):
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
    """Take the lease on a store for a ``with`` block, and renew it until the end."""
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
        # a lease on an object store that cannot be reached lapses later
        with suppress(Exception), explained_store_errors():
            lease.give_back()


def _renew(lease: Lease, done: threading.Event) -> None:
    """Renew the lease until ``done``; a lost lease raises an error at the next commit."""
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
    holder = _read(text)
    if "process" not in holder:
        return "another process"
    return f"process {holder['process']} on {holder.get('host')}"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return process > 0


#: The folders whose files are put, in this order. Ids stay on the workbench as well.
_PARTS = ("dimensions", "tables", "rejects", "quality")
_KEPT = "dimensions"


class Workbench:
    """A local folder in which a store is written before its files are put on an object store."""

    def __init__(self, store: Path, folder: Path, lease: Lease) -> None:
        self.folder = folder
        self._store = store
        self._lease = lease
        self._manifest: bytes | None = None
        self._on_store: set[Path] = set()
        self._quantities: dict[str, str] = {}

    def fetch(self) -> None:
        """Copy the manifest and the ids of the store to the workbench, if there is a store."""
        self._manifest = get_bytes(self._store / NAME)
        if self._manifest is None:
            self._check_empty()
            return
        self.folder.mkdir()
        (self.folder / NAME).write_bytes(self._manifest)
        manifest = read_manifest(self.folder)
        self._quantities = manifest.quantities
        for entity, count in manifest.dimensions.items():
            for stored in dimension_paths(self._store, entity, count):
                copy = self.folder / str(stored.relative_to(self._store))
                get_file(stored, copy)
                self._on_store.add(copy)

    def _check_empty(self) -> None:
        folders = {*_PARTS, LOCK}
        others = [one for one in self._store.iterdir() if one.name not in folders]
        if others:
            raise TracekitError(
                f"{self._store} is not empty and not a store: {others[0].name} is there",
                hint="name a new folder for the store",
            )

    def commit(self, manifest: Manifest) -> None:
        """Copy new parts, rejects and ids to the store, and then the manifest that names them."""
        manifest = dataclasses.replace(manifest, quantities=self._all_quantities(manifest))
        write_quality(Store(self.folder, manifest))
        with explained_store_errors():
            self._lease.check()
            for part in _PARTS:
                self._put_new(part)
            write_manifest(self.folder, manifest)
            after = (self.folder / NAME).read_bytes()
            try:
                put_over(self._store / NAME, after, self._manifest)
            except OvertakenError:
                raise TracekitError(
                    f"{self._store} was written by another process meanwhile",
                    hint=GO_ON,
                ) from None
        self._manifest = after

    def _all_quantities(self, manifest: Manifest) -> dict[str, str]:
        """The quantities of the store, with those of the parts on the workbench."""
        here = [e for e in manifest.sources if (self.folder / part_path(e.table, e.part)).exists()]
        brought = dataclasses.replace(manifest, sources=tuple(here))
        self._quantities = together(self._quantities, quantities(Store(self.folder, brought)))
        return self._quantities

    def _put_new(self, part: str) -> None:
        for here in sorted((self.folder / part).rglob("*.parquet")):
            if here not in self._on_store:
                put_file(here, self._store / here.relative_to(self.folder).as_posix())
                if part == _KEPT:
                    self._on_store.add(here)
                else:
                    here.unlink()


@contextmanager
def workbench(store: Path) -> Iterator[Workbench]:
    """Lock a store on an object store for a ``with`` block, and yield a workbench for it.

    Raises
    ------
    TracekitError
        When another process writes the store, or the folder holds files and is no store.
    """
    with (
        explained_store_errors(),
        tempfile.TemporaryDirectory(prefix="tracekit-ingest-") as folder,
        leased(store) as lease,
    ):
        bench = Workbench(store, Path(folder) / "store", lease)
        bench.fetch()
        yield bench
