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
    out : str
        The report.
    """

    store: str = "STORE"
    run: str = "RUN"
    studies: str = "studies"
    out: str = "report.html"

    def study(self, name: str) -> str:
        """A folder for a study that the next report shows."""
        return shlex.quote(str(Path(self.studies) / name))

    def beside(self, name: str) -> str:
        """A folder for another replay, beside the run or the store."""
        return shlex.quote(str(Path(self.studies).parent / name))


def paths(source: Path, out: Path, store: Path | None, run: Path | None) -> Paths:
    """The paths of a report of ``source``: from this folder where ``source`` was given so."""

    def told(path: Path) -> str:
        if "://" in str(path):
            return str(path)
        plain = path.absolute() if source.is_absolute() else Path(os.path.relpath(path))
        return os.path.normpath(plain)

    return Paths(
        store=shlex.quote(told(store)) if store else "STORE",
        run=shlex.quote(told(run)) if run else "RUN",
        studies=told((run or source).absolute().parent / BESIDE),
        out=shlex.quote(str(out)),
    )
