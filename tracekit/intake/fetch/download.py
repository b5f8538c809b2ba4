"""Downloads one archive, and goes on after each break of the line.

The archive gets its final name when it is whole. Until then ``.NAME.part`` has its first bytes, and
``.NAME.part.json`` describes the file on the server. Both names are hidden, so that ``ingest`` can
read a folder while a fetch fills it.
"""

import dataclasses
import errno
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import BinaryIO, Literal

import msgspec
import numpy as np
from isal import igzip_lib

from tracekit.base import units
from tracekit.base.files.durable import put
from tracekit.base.files.replacing import replaced_file
from tracekit.base.opened import read_text
from tracekit.intake.fetch.http import (
    CHUNK_BYTES,
    GO_ON,
    FetchError,
    NoHostError,
    RangeRefusedError,
    Remote,
    Reply,
    Retries,
    request,
)
from tracekit.intake.fetch.plan import Wanted
from tracekit.intake.read.blocks import GunzipStream


class Part:
    """The hidden files of an unfinished download of ``target``: bytes, and a description."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f".{target.name}.part")
        self._about = target.with_name(f".{target.name}.part.json")

    @property
    def size_bytes(self) -> int:
        """The number of bytes on the disk; 0 if their description is missing."""
        return self.path.stat().st_size if self.path.exists() and self.remote is not None else 0

    @property
    def remote(self) -> Remote | None:
        """The saved description of the file on the server; None if there is none."""
        try:
            return msgspec.json.decode(read_text(self._about), type=Remote)
        except (OSError, ValueError, RecursionError):
            return None

    def begin(self, remote: Remote) -> None:
        """Discard the bytes, and save the description of the file that now begins."""
        self.discard()
        with replaced_file(self._about, follow=False) as aside:
            aside.write_text(json.dumps(dataclasses.asdict(remote)))

    def open_end(self) -> BinaryIO:
        """Open the unfinished file to append bytes."""
        return self.path.open("ab", buffering=0)

    def discard(self) -> None:
        """Remove the bytes and their description."""
        self.path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)

    def finish(self) -> None:
        """Rename the complete file to ``target``, and remove the description."""
        put({self.path: self.target}, self.target.parent)
        self._about.unlink(missing_ok=True)

    def check_room(self, remote: Remote, here_bytes: int) -> None:
        """Raise FetchError if the disk lacks space for the bytes after the first ``here_bytes``."""
        free = shutil.disk_usage(self.target.parent).free
        missing = (remote.length or 0) - here_bytes
        if missing > free:
            raise FetchError(
                f"no room for {self.target.name}: {units.size(missing)} are still to come,"
                f" {units.size(free)} are free on the disk",
                hint="make room, or fetch fewer parts: --parts 0-3",
                passing=False,
                everywhere=True,
            )


def disk_error(error: OSError, path: Path) -> FetchError:
    """Return a FetchError for an error of writing to the disk; it ends the fetch of all files."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    what = "the disk is full" if full else f"cannot write: {error.strerror}"
    return FetchError(
        f"{what} at {path}",
        hint="make room, then run the same command again: it goes on where it stopped"
        if full
        else "name a folder you may write to",
        passing=False,
        everywhere=True,
    )


_CHUNK_BYTES = 1 << 20


class DamagedError(FetchError):
    """The error that a downloaded archive is corrupt or has another sha256 than expected.

    Parameters
    ----------
    sha256 : str
        The checksum of the whole file. Two downloads with one checksum show that the file is
        damaged on the server.
    """

    def __init__(self, what: str, sha256: str) -> None:
        super().__init__(what, hint="it is fetched again from the start")
        self.sha256 = sha256


def checked(path: Path, name: str, expected: str | None = None) -> str:
    """Read a gzip file to its end and return the sha256 of its bytes.

    Every gzip member must have the checksum and the length that it states. Only zero bytes may
    follow the last member.

    Parameters
    ----------
    name : str
        The name of the file in messages.
    expected : str, optional
        The sha256 that the file must have.

    Raises
    ------
    DamagedError
        For a file that is cut off, corrupt or no gzip file, and for another sha256.
    """
    fault = None
    with path.open("rb") as handle:
        sha256 = hashlib.file_digest(handle, "sha256").hexdigest()
        handle.seek(0)
        content = GunzipStream(handle)
        try:
            while content.read(_CHUNK_BYTES):
                pass
        except EOFError:
            fault = "is truncated: the archive ends before its content does"
        except igzip_lib.IsalError as error:  # type: ignore[misc]  # untyped
            fault = f"is corrupt, or no gzip archive: {error}"
    if fault is None and expected not in {None, sha256}:
        fault = f"has the sha256 {sha256}, expected {expected} as upstream states it"
    if fault is not None:
        raise DamagedError(f"{name} {fault}", sha256)
    return sha256


@dataclass(frozen=True, kw_only=True)
class DownloadSettings:
    """The settings and events that all downloads of a fetch share.

    Parameters
    ----------
    timeout_s : float
        Seconds without bytes after which a connection counts as broken.
    stop : Event
        When set, every download stops at its next chunk.
    came : Event
        Set with the first byte of any download. From then on a host that is not found is a passing
        fault, and the download is tried again.
    """

    timeout_s: float
    retries: Retries
    stop: Event = field(default_factory=Event)
    came: Event = field(default_factory=Event)


Outcome = Literal["fetched", "resumed", "known"]


@dataclass(frozen=True, kw_only=True)
class FetchedFile:
    """One archive that is complete in the folder, as ``download`` or a fetch returns it.

    Parameters
    ----------
    outcome : {'fetched', 'resumed', 'known'}
        Downloaded by this call; downloaded in part by an earlier call; or complete before this
        call.
    tries : int
        The number of requests.
    """

    path: str
    table: str
    part: int
    url: str
    size_bytes: int
    sha256: str
    outcome: Outcome
    tries: int


def fetched_file(
    wanted: Wanted, size_bytes: int, sha256: str, *, outcome: Outcome, tries: int
) -> FetchedFile:
    """Return the ``FetchedFile`` of a wanted archive that is complete in the folder."""
    return FetchedFile(
        path=wanted.path,
        table=wanted.table,
        part=wanted.part,
        url=wanted.url,
        size_bytes=size_bytes,
        sha256=sha256,
        outcome=outcome,
        tries=tries,
    )


class StoppedError(FetchError):
    """The error that ``DownloadSettings.stop`` ended a download; its bytes stay on the disk."""


def download(
    wanted: Wanted,
    target: Path,
    manner: DownloadSettings,
    rng: np.random.Generator,
    on_reached: Callable[[int, int | None], None],
) -> FetchedFile:
    """Download an archive to ``target``.

    Parameters
    ----------
    on_reached : callable
        Called with the bytes on the disk and the bytes of the whole file (None: unknown).

    Raises
    ------
    FetchError
        When the download is given up; its bytes stay on the disk for another call.
    """
    part = Part(target)
    resumed = furthest = part.size_bytes
    tries = failed = 0
    damaged: str | None = None
    while True:
        tries += 1
        try:
            _continue(wanted.url, part, manner, on_reached)
            digest = checked(part.path, wanted.path, wanted.sha256)
            break
        except FetchError as error:
            reached = part.size_bytes
            failed = 1 if reached > furthest else failed + 1
            furthest = max(furthest, reached)
            damaged = _after(error, part, damaged)
            error.passing |= isinstance(error, NoHostError) and manner.came.is_set()
            if isinstance(error, StoppedError) or manner.retries.given_up(failed, error):
                raise
            manner.retries.sleep(manner.retries.wait_s(failed, error, rng))
    part.finish()
    outcome: Outcome = "resumed" if resumed else "fetched"
    return fetched_file(wanted, target.stat().st_size, digest, outcome=outcome, tries=tries)


def _after(error: FetchError, part: Part, damaged: str | None) -> str | None:
    """Discard the bytes where the error makes them useless.

    Returns the sha256 of the last damaged archive; raises FetchError for the same damage twice.
    """
    if isinstance(error, DamagedError):
        part.discard()
        if error.sha256 == damaged:
            raise FetchError(
                f"{error.what} (twice the same, so it is damaged on the server)",
                hint="another mirror: --base-url URL",
                passing=False,
            ) from error
        return error.sha256
    if isinstance(error, RangeRefusedError):
        part.discard()
    return damaged


def _continue(
    url: str, part: Part, manner: DownloadSettings, on_reached: Callable[[int, int | None], None]
) -> None:
    """Request the missing bytes once; returns when the file is whole."""
    start, before = part.size_bytes, part.remote
    if before is not None and before.length is not None and start == before.length > 0:
        on_reached(start, start)
        return
    with request(url, start=start, before=before, timeout_s=manner.timeout_s) as reply:
        if reply.start != start or start == 0 or before is None or reply.remote.differs(before):
            _start_over(url, part, reply)
        part.check_room(reply.remote, part.size_bytes)
        reached = _pour(reply, part, manner, on_reached)
        _check_length(url, reply.remote, reached)


def _start_over(url: str, part: Part, reply: Reply) -> None:
    """Begin the file anew with an answer from byte 0; raises FetchError for another answer."""
    if reply.start != 0:
        part.discard()
        raise FetchError(f"the file changed on the server while it was fetched: {url}")
    try:
        part.begin(reply.remote)
    except OSError as error:
        raise disk_error(error, part.target) from error


def _pour(
    reply: Reply,
    part: Part,
    manner: DownloadSettings,
    on_reached: Callable[[int, int | None], None],
) -> int:
    reached = part.size_bytes
    on_reached(reached, reply.remote.length)
    try:
        with part.open_end() as handle:
            while chunk := reply.read(CHUNK_BYTES):
                handle.write(chunk)
                manner.came.set()
                reached += len(chunk)
                on_reached(reached, reply.remote.length)
                if manner.stop.is_set():
                    raise StoppedError("stopped")
    except OSError as error:
        raise disk_error(error, part.target) from error
    return reached


def _check_length(url: str, remote: Remote, reached: int) -> None:
    if remote.length is not None and reached != remote.length:
        raise FetchError(
            f"the line broke after {reached:,} of {remote.length:,} bytes: {url}",
            hint=GO_ON,
        )


NAME = ".fetch.json"
LOCK = ".fetch.lock"


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """A whole archive, and the address that it came from."""

    size_bytes: int
    sha256: str
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class _Document:
    """The whole archives of a folder, by path."""

    schema: Literal["tracekit/fetched/1"]
    files: dict[str, _Entry]


class Ledger:
    """The list of a folder's complete archives, with size and sha256; kept in ``.fetch.json``."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._lock = Lock()
        try:
            self._files = msgspec.json.decode(read_text(self._path), type=_Document).files
        except (OSError, ValueError, RecursionError):
            self._files = {}

    def sha256(self, path: str, size_bytes: int) -> str | None:
        """Return the recorded sha256 of an archive; None if it is not recorded with this size."""
        entry = self._files.get(path)
        return entry.sha256 if entry is not None and entry.size_bytes == size_bytes else None

    def note(self, path: str, *, size_bytes: int, sha256: str, url: str) -> None:
        """Record a complete archive, and write the file."""
        with self._lock:
            self._files[path] = _Entry(size_bytes=size_bytes, sha256=sha256, url=url)
            files = dict(sorted(self._files.items()))
            document = dataclasses.asdict(_Document(schema="tracekit/fetched/1", files=files))
            with replaced_file(self._path, follow=False) as aside:
                aside.write_text(json.dumps(document, indent=2) + "\n")
