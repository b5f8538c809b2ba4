"""Stages of a whole run that are under way while something else is done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from tracekit.crew.crew import Crew
from tracekit.progress import Progress, Task

if TYPE_CHECKING:
    from tracekit.verbs._stages import Stage


class Begun:
    """Stages that are under way beside what is done meanwhile."""

    def __init__(self, crew: Crew, progress: Progress, task: Task) -> None:
        self._crew, self._progress, self._task = crew, progress, task
        self._running: dict[str, Future[None]] = {}

    def begin(self, stage: Stage) -> None:
        """Have a stage done."""
        self._progress.stage(stage.name)
        future = self._crew.submit(stage, lambda *_: None)
        if future.done():
            # alone: a stage that failed ends the run here, not after the replays
            future.result()
        future.add_done_callback(partial(_tell, self._task, stage.name))
        self._running[stage.name] = future

    def ended(self, name: str) -> bool:
        """Wait for a stage; whether there is one of that name."""
        if name in self._running:
            self._running[name].result()
        return name in self._running

    def end(self) -> None:
        """Wait for all."""
        for future in self._running.values():
            future.result()


@contextlib.contextmanager
def under_way(stages: Sequence[Stage], crew: Crew, progress: Progress) -> Iterator[Begun]:
    """The stages begun before, and done after, what is done within."""
    # what is bound by the fit is begun when the fit is there
    later = sum(stage.name == "fit" for stage in stages)
    with progress.task("other stages", len(stages) + later, "stages") as task:
        begun = Begun(crew, progress, task)
        for stage in stages:
            begun.begin(stage)
        yield begun
        begun.end()


def _tell(task: Task, name: str, done: Future[None]) -> None:
    """What failed is told by what it raises."""
    if not done.cancelled() and done.exception() is None:
        task.advance(1, name)
