"""Where what a report shows lies, as its commands name it, so that they run as they stand."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from tracekit.report.studies import BESIDE


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Paths of commands, quoted for a shell; words in capitals for what is not known.

    Parameters
    ----------
    store, run : str
        The store and the run folder of the report.
    studies : str
        The folder whose studies the next report shows, not quoted.
    """

    store: str = "STORE"
    run: str = "RUN"
    studies: str = "studies"

    def study(self, name: str) -> str:
        """A folder for a study that the next report shows."""
        return shlex.quote(str(Path(self.studies) / name))

    def beside(self, name: str) -> str:
        """A folder for another replay, beside the run or the store."""
        return shlex.quote(str(Path(self.studies).parent / name))


def paths(source: Path, store: Path | None, run: Path | None) -> Paths:
    """The paths of a report of ``source``, as one types them in the working folder.

    They are relative where ``source`` was given so or lies below that folder: then nothing of the
    machine is told, and the report is the same wherever the folder lies.
    """
    here = Path.cwd()
    relative = not source.is_absolute() or source.is_relative_to(here)

    def told(path: Path) -> str:
        if "://" in str(path):
            return str(path)
        return os.path.relpath(path) if relative else os.path.normpath(path.absolute())

    return Paths(
        store=shlex.quote(told(store)) if store else "STORE",
        run=shlex.quote(told(run)) if run else "RUN",
        studies=told((run or source).absolute().parent / BESIDE),
    )
