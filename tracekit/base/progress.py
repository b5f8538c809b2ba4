"""Progress of long work: functions report it, the command line shows it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """A running piece of work."""

    def advance(self, amount: float, note: str = "") -> None:
        """Report that ``amount`` more of the task's total is done, with a short note."""


class Progress(Protocol):
    """A receiver of the progress of a function call."""

    def stage(self, text: str, *, then: str = "") -> None:
        """Report the start of a stage, such as ``ingest``, and the stage after it."""

    def say(self, text: str) -> None:
        """Report the result of a stage, such as ``1,234 rows of 2 files``."""

    def task(self, text: str, total: float | None, unit: str) -> AbstractContextManager[Task]:
        """Begin a task of ``total`` units, or of an unknown total for None; a context manager."""


class Silent:
    """Progress that prints nothing; a class that prints something may build on it."""

    def stage(self, text: str, *, then: str = "") -> None:
        """Print nothing."""

    def say(self, text: str) -> None:
        """Print nothing."""

    def advance(self, amount: float, note: str = "") -> None:
        """Print nothing."""

    @contextmanager
    def task(self, text: str, total: float | None, unit: str) -> Iterator[Task]:  # noqa: ARG002
        """Yield a task that reports nothing."""
        yield self


SILENT: Progress = Silent()
