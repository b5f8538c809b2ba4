"""Runs tasks here or in other processes; what they write does not depend on which."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from tracekit.synth.presets import Preset
from tracekit.synth.seeds import Seeds
from tracekit.synth.tasks import Done, Task
from tracekit.synth.world import World, make_world

_here: list[tuple[Path, World]] = []


def run_all(
    tasks: Sequence[Task], folder: Path, world: World, jobs: int
) -> Iterator[tuple[Task, Done]]:
    """Run every task; with one job in order, with more as they come to an end."""
    if jobs == 1 or len(tasks) == 1:
        for task in tasks:
            yield task, task.run(folder, world)
        return
    # spawned, not forked: a fork takes the locks of polars' threads with it, but not the threads
    context = multiprocessing.get_context("spawn")
    arguments = (folder, world.preset, world.seeds)
    with ProcessPoolExecutor(min(jobs, len(tasks)), context, _begin, arguments) as pool:
        running = {pool.submit(_run, task): task for task in tasks}
        try:
            for future in as_completed(running):
                yield running.pop(future), future.result()
        except BaseException:
            _end(pool)
            raise


def _end(pool: ProcessPoolExecutor) -> None:
    """Stop at once: what is half written is thrown away by the caller."""
    pool.shutdown(wait=False, cancel_futures=True)
    for process in list((pool._processes or {}).values()):  # noqa: SLF001 - public from 3.14 on
        process.terminate()


def _begin(folder: Path, preset: Preset, seeds: Seeds) -> None:
    """Every process draws the same world for itself, and leaves Ctrl-C to the one that asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _here.append((folder, make_world(preset, seeds)))


def _run(task: Task) -> Done:
    folder, world = _here[0]
    return task.run(folder, world)
