"""How long work tells that it is moving; the command line draws it, a notebook may ignore it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """One piece of work in progress."""

    def advance(self, amount: float, note: str = "") -> None:
        """Say that ``amount`` more of the task's total is done, with a short note."""


class Progress(Protocol):
    """Where a library call announces its tasks."""

    def stage(self, text: str, *, then: str = "") -> None:
        """Say that a new stage begins, ``ingest``, and what comes ``then``."""

    def say(self, text: str) -> None:
        """Say what a stage came to: ``1,234 rows of 2 files``."""

    def task(self, text: str, total: float | None, unit: str) -> AbstractContextManager[Task]:
        """A task of ``total`` units (None when unknown), as a context manager."""


class Silent:
    """Progress that says nothing; one that says something may build on it."""

    def stage(self, text: str, *, then: str = "") -> None:
        """Say nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def advance(self, amount: float, note: str = "") -> None:
        """Say nothing."""

    @contextmanager
    def task(self, text: str, total: float | None, unit: str) -> Iterator[Task]:  # noqa: ARG002
        """A task that says nothing."""
        yield self


SILENT: Progress = Silent()
