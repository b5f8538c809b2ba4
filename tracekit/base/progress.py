"""Progress of long work: functions report it, the command line shows it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """A running piece of work."""

    def advance(self, amount: float, note: str = "") -> None:
        """Report that ``amount`` more of the task's total is done, with a short note."""


class Progress(Protocol):
    """Receives the progress of a function call."""

    def stage(self, text: str, *, then: str = "") -> None:
        """Report the start of a stage, such as ``ingest``, and the stage after it."""

    def say(self, text: str) -> None:
        """Report the result of a stage, such as ``1,234 rows of 2 files``."""

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
