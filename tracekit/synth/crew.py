"""Runs tasks here or in other processes; what they write does not depend on which."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.crew.crew import Crew, LostWorkerError, OnProgress, each_done
from tracekit.base.errors import TracekitError
from tracekit.synth.presets import Preset
from tracekit.synth.seeds import Seeds
from tracekit.synth.tasks import Done, Task
from tracekit.synth.world import World, make_world


@dataclass(frozen=True)
class SentTask:
    """A task with what its process needs to draw the same world for itself."""

    task: Task
    folder: Path
    preset: Preset
    seeds: Seeds

    def run(self, _: OnProgress) -> Done:
        """Do the task in the world that the last task here had, if it is the same."""
        return self.task.run(self.folder, _world(self.preset, self.seeds))


@functools.lru_cache(maxsize=1)
def _world(preset: Preset, seeds: Seeds) -> World:
    return make_world(preset, seeds)


def run_all(
    tasks: Sequence[Task], folder: Path, world: World, crew: Crew | None
) -> Iterator[tuple[Task, Done]]:
    """Run every task: in this process in order, or by a crew, as they come to an end.

    A crew is closed when a task fails: no process writes any more when the error is raised.
    """
    if crew is None:
        for task in tasks:
            yield task, task.run(folder, world)
        return
    try:
        sent = ((task, SentTask(task, folder, world.preset, world.seeds)) for task in tasks)
        for task, future in each_done(crew, sent):
            yield task, future.result()
    except LostWorkerError as error:
        crew.close()
        raise TracekitError(
            "a process that made up a part of the trace ended while at work",
            hint="it may have run out of memory: try --jobs 1",
        ) from error
    except BaseException:
        crew.close()
        raise
