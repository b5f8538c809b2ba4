"""How far all files together are, and how fast it goes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from threading import Lock

from tracekit import units
from tracekit.fetch.plan import Wanted
from tracekit.progress import Task

_WINDOW_S = 10.0


class Meter:
    """Feeds a progress task from many threads.

    Lengths become known one by one, so each file counts with its usual size, and its progress is
    the share of it that is here: time left is then right even for a mirror of other sizes.
    """

    def __init__(self, task: Task, files: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._files, self._clock = task, files, clock
        self._lock = Lock()
        self._done = 0
        self._shares: dict[str, float] = {}
        self._reached: dict[str, int] = {}
        self._recent: deque[tuple[float, int]] = deque()

    def reached(self, wanted: Wanted, here_bytes: int, length_bytes: int | None) -> None:
        """So many bytes of a file are here."""
        with self._lock:
            before = self._reached.get(wanted.path, here_bytes)
            self._reached[wanted.path] = here_bytes
            self._recent.append((self._clock(), max(here_bytes - before, 0)))
            share = here_bytes / length_bytes if length_bytes else 0.0
            self._advance(wanted, min(share, 1.0))

    def finished(self, wanted: Wanted) -> None:
        """A file is done with, whatever came of it."""
        with self._lock:
            self._done += 1
            self._advance(wanted, 1.0)

    def rate_bytes_per_s(self) -> float:
        """Bytes per second over the last seconds."""
        while self._recent and self._recent[0][0] < self._clock() - _WINDOW_S:
            self._recent.popleft()
        if not self._recent:
            return 0.0
        passed = self._clock() - self._recent[0][0]
        return sum(count for _, count in self._recent) / passed if passed > 0 else 0.0

    def _advance(self, wanted: Wanted, share: float) -> None:
        more = share - self._shares.get(wanted.path, 0.0)
        self._shares[wanted.path] = share
        note = f"{self._done}/{self._files} files {units.size(self.rate_bytes_per_s())}/s"
        self._task.advance(more * wanted.usual_bytes, note)
