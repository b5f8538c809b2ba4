"""Downloads many archives at a time into one folder."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread

import numpy as np

from tracekit.base import units
from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import locked, make_folder
from tracekit.base.files.places import check_no_link, written_of_fetch
from tracekit.base.progress import SILENT, Progress, Task
from tracekit.base.shown import Shown
from tracekit.intake.fetch.download import (
    LOCK,
    DamagedError,
    DownloadSettings,
    FetchedFile,
    Ledger,
    Part,
    StoppedError,
    checked,
    disk_error,
    download,
    fetched_file,
)
from tracekit.intake.fetch.http import GO_ON, FetchError, Retries
from tracekit.intake.fetch.plan import Wanted, plan


class Meter:
    """A progress task for all downloads of a fetch together, with the mean rate since its start.

    The length of a file is known only when its download begins. So a file counts as its usual size
    times the share of its bytes that are on the disk.
    """

    def __init__(self, task: Task, files: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._files, self._clock = task, files, clock
        self._lock = Lock()
        self._done = 0
        self._shares: dict[str, float] = {}
        self._reached: dict[str, int] = {}
        self._start_s, self._came_bytes = clock(), 0

    def reached(self, wanted: Wanted, here_bytes: int, length_bytes: int | None) -> None:
        """Report that ``here_bytes`` bytes of a file are on the disk."""
        with self._lock:
            self._came_bytes += max(here_bytes - self._reached.get(wanted.path, here_bytes), 0)
            self._reached[wanted.path] = here_bytes
            share = here_bytes / length_bytes if length_bytes else 0.0
            self._advance(wanted, min(share, 1.0))

    def finished(self, wanted: Wanted, *, whole: bool = True) -> None:
        """Report the end of a download. If it is not ``whole``, its progress stays as it is."""
        with self._lock:
            self._done += whole
            self._advance(wanted, 1.0 if whole else self._shares.get(wanted.path, 0.0))

    def _advance(self, wanted: Wanted, share: float) -> None:
        more = share - self._shares.get(wanted.path, 0.0)
        self._shares[wanted.path] = share
        rate = self._came_bytes / max(self._clock() - self._start_s, 1e-3)
        note = f"{self._done}/{self._files} files {units.size(rate)}/s"
        self._task.advance(more * wanted.usual_bytes, note)


_LOOK_S = 0.2


@dataclass(frozen=True, kw_only=True, repr=False)
class FetchSummary(Shown):
    """The result of ``fetch``: the archives in ``out``, in the order of the release."""

    release: str
    out: Path
    files: tuple[FetchedFile, ...]


def fetch(
    release: str,
    out: str | Path,
    *,
    tables: Sequence[str] = (),
    parts: str | None = None,
    base_url: str | None = None,
    jobs: int,
    timeout_s: float,
    retries: Retries | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> FetchSummary:
    """Download archives of a release into a folder; complete what an earlier call left there.

    Parameters
    ----------
    tables : sequence of str
        Names or words of tables (``node``, ``resource``, ...); all tables when empty.
    parts : str, optional
        Numbers and ranges of parts, as ``0-3,7``; all parts when None.
    jobs : int
        Downloads at a time.
    timeout_s : float
        Seconds without bytes after which a connection counts as broken.
    seed : int
        The seed of the jitter in the waits before another try.

    Raises
    ------
    TracekitError
        As ``plan`` does, and while another process writes to the folder. Also when a file cannot be
        downloaded; then the other files are downloaded first, and another call goes on.
    """
    if jobs < 1:
        raise TracekitError(f"--jobs {jobs}: expected 1 or more")
    folder = Path(out)
    wanted = plan(release, tables=tables, parts=parts, base_url=base_url)
    manner = DownloadSettings(timeout_s=timeout_s, retries=retries or Retries())
    try:
        make_folder(folder)
    except OSError as error:
        raise disk_error(error, folder) from error
    total = sum(one.usual_bytes for one in wanted)
    with (
        locked(folder / LOCK, busy=f"{folder} is being filled"),
        progress.task("fetch", total, "bytes") as task,
    ):
        check_no_link(written_of_fetch(folder))
        crew = _Crew(folder, wanted, manner, Meter(task, len(wanted)), seed)
        crew.work(min(jobs, len(wanted)))
    if crew.failed:
        raise _failure(crew)
    files = tuple(crew.files[one.path] for one in wanted)
    return FetchSummary(release=release, out=folder, files=files)


class _Crew:
    """Threads that download the files of one queue."""

    def __init__(
        self,
        folder: Path,
        wanted: Sequence[Wanted],
        manner: DownloadSettings,
        meter: Meter,
        seed: int,
    ) -> None:
        self.files: dict[str, FetchedFile] = {}
        self.failed: list[FetchError] = []
        self._folder, self._manner, self._meter, self._seed = folder, manner, meter, seed
        self._ledger = Ledger(folder)
        self._lock = Lock()
        self._bug: BaseException | None = None
        self._queue: SimpleQueue[tuple[int, Wanted]] = SimpleQueue()
        for numbered in enumerate(wanted):
            self._queue.put(numbered)

    def work(self, jobs: int) -> None:
        """Download all files; an interrupt of this thread stops the others."""
        # daemons: a thread that waits for a silent server must not keep the program from ending
        threads = [Thread(target=self._run, daemon=True) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(_LOOK_S)
        finally:
            self._manner.stop.set()
        if self._bug is not None:
            raise self._bug

    def _run(self) -> None:
        try:
            while not self._manner.stop.is_set():
                self._take(*self._queue.get_nowait())
        except Empty:
            return
        except BaseException as error:  # noqa: BLE001 - handed to the calling thread
            self._bug = error
            self._manner.stop.set()

    def _take(self, number: int, wanted: Wanted) -> None:
        try:
            file = self._on_disk(wanted) or self._download(number, wanted)
        except StoppedError:
            return
        except FetchError as error:
            with self._lock:
                self.failed.append(error)
            if error.everywhere:
                self._manner.stop.set()
            self._meter.finished(wanted, whole=False)
        else:
            self._ledger.note(
                wanted.path, size_bytes=file.size_bytes, sha256=file.sha256, url=wanted.url
            )
            with self._lock:
                self.files[wanted.path] = file
            self._meter.finished(wanted)

    def _on_disk(self, wanted: Wanted) -> FetchedFile | None:
        """The file where it is whole on the disk, else None; a checked file is not read again."""
        target = self._folder / wanted.path
        if not target.is_file():
            return None
        size = target.stat().st_size
        try:
            noted = self._ledger.sha256(wanted.path, size)
            as_stated = noted is not None and wanted.sha256 in {None, noted}
            digest = noted if as_stated and noted else checked(target, wanted.path, wanted.sha256)
        except DamagedError:
            return None
        with suppress(OSError):
            Part(target).discard()  # left by a call that could not clear it away
        return fetched_file(wanted, size, digest, outcome="known", tries=0)

    def _download(self, number: int, wanted: Wanted) -> FetchedFile:
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(number,)))
        return download(
            wanted,
            self._folder / wanted.path,
            self._manner,
            rng,
            lambda here, length: self._meter.reached(wanted, here, length),
        )


def _failure(crew: _Crew) -> TracekitError:
    first = crew.failed[0]
    whole = len(crew.files)
    complete = f"; {whole} file{'s are' if whole != 1 else ' is'} complete" if whole else ""
    if len(crew.failed) == 1:
        return TracekitError(f"{first.what}{complete}", hint=first.hint or GO_ON)
    return TracekitError(
        f"{len(crew.failed)} files could not be fetched{complete}; the first: {first.what}",
        hint=first.hint or GO_ON,
    )
