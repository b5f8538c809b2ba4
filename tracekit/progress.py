"""How long work tells that it is moving; the command line draws it, a notebook may ignore it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """One piece of work in progress."""

    def advance(self, amount: float, note: str = "") -> None:
        """Say that ``amount`` more of the task's total is done, with a short note."""


class Progress(Protocol):
    """Where a library call announces its tasks."""

    def stage(self, text: str) -> None:
        """Say that a new stage begins: ``ingest``, ``replay least_allocated``."""

    def task(self, text: str, total: float | None, unit: str) -> AbstractContextManager[Task]:
        """A task of ``total`` units (None when unknown), as a context manager."""


class _Silent:
    """Progress that says nothing."""

    def stage(self, text: str) -> None:
        pass

    def advance(self, amount: float, note: str = "") -> None:
        pass

    @contextmanager
    def task(self, text: str, total: float | None, unit: str) -> Iterator[Task]:  # noqa: ARG002
        yield self


SILENT: Progress = _Silent()
