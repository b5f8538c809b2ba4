"""Where what a report shows lies, as its commands name it, so that they run as they stand."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tracekit.replay.workload.loaders import spelled
from tracekit.study import BESIDE


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Paths of commands, quoted for a shell; words in capitals for what is not known.

    Parameters
    ----------
    source : str
        What the report is made of.
    store : str
        Its store.
    replayed : str
        What its run replayed, as every command takes it: the store, or ``--workload`` and another.
    studies : str
        The folder whose studies the next report shows, not quoted.
    """

    source: str = "SOURCE"
    store: str = "STORE"
    replayed: str = "STORE"
    studies: str = "studies"

    def study(self, name: str) -> str:
        """A folder for a study that the next report shows."""
        return shlex.quote(os.path.normpath(Path(self.studies) / name))

    def beside(self, name: str) -> str:
        """A folder for another replay, beside the run or the store."""
        return shlex.quote(str(Path(self.studies).parent / name))


def paths(source: Path, store: Path | None, run: Path | None, *, loader: str = "") -> Paths:
    """The paths of a report of ``source``, as one types them in the working folder.

    They are relative where ``source`` was given so or lies below that folder: then nothing of the
    machine is told, and the report is the same wherever the folder lies. ``loader`` is the workload
    that the run's manifest names, if it replayed no store.
    """
    here = Path.cwd()
    relative = not source.is_absolute() or source.is_relative_to(here)

    def told(path: Path) -> str:
        if "://" in str(path):
            return str(path)
        return os.path.relpath(path) if relative else os.path.normpath(path.absolute())

    around = (run or source).absolute().parent
    named = shlex.quote(told(store)) if store else "STORE"
    workload = _workload(loader, run, told) if run and loader else ""
    return Paths(
        source=shlex.quote(told(source)),
        store=named,
        replayed=f"--workload {shlex.quote(workload)}" if workload else named,
        studies=told(around if around.name == BESIDE else around / BESIDE),
    )


def _workload(loader: str, run: Path, told: Callable[[Path], str]) -> str:
    """A workload as ``--workload`` takes it; a bare path where the loader is found by it."""
    name, given, path = spelled(loader)
    if not path:
        return loader
    shown = told(run / path)
    settings = ",".join(f"{key}={value}" for key, value in given.items())
    return f"{name}{f'[{settings}]' if settings else ''}:{shown}"
