"""Runs tasks here or in other processes; what they write does not depend on which."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit.isolation import started_elsewhere
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
    with started_elsewhere():
        pool = ProcessPoolExecutor(min(jobs, len(tasks)), context, _begin, arguments)
        running = {pool.submit(_run, task): task for task in tasks}
    with pool:
        try:
            for future in as_completed(running):
                yield running.pop(future), future.result()
        except BrokenProcessPool as error:
            _end(pool)
            raise TracekitError(
                "a process that made up a part of the trace ended while at work",
                hint="it may have run out of memory: try --jobs 1",
            ) from error
        except BaseException:
            _end(pool)
            raise


def _end(pool: ProcessPoolExecutor) -> None:
    """Stop at once: what is half written is thrown away by the caller, once nobody writes."""
    processes = list((pool._processes or {}).values())  # noqa: SLF001 - public from 3.14 on
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()
    for process in processes:
        process.join()


def _begin(folder: Path, preset: Preset, seeds: Seeds) -> None:
    """Every process draws the same world for itself; the one that asked answers to signals."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _here.append((folder, make_world(preset, seeds)))


def _run(task: Task) -> Done:
    folder, world = _here[0]
    return task.run(folder, world)
