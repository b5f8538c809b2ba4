"""Where what a report shows lies, as its commands name it, so that they run as they stand."""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.replay.policy.own_files import as_given, by_name
from tracekit.replay.workload.loaders import spelled
from tracekit.study import BESIDE

#: What is said where it is not known where a store or a run lies.
_STORE, _RUN = "STORE", "RUN"


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
    run : str
        The run's folder.
    studies : str
        The folder whose studies the next report shows, not quoted.
    files : mapping of str to str
        The files of one's own policies, by the policies' names, not quoted.
    results : mapping of str to str
        The folders of results that are there, by the kind of result.
    """

    source: str = "SOURCE"
    store: str = _STORE
    replayed: str = _STORE
    run: str = _RUN
    studies: str = "studies"
    files: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)

    @property
    def reported(self) -> str:
        """What a report that shows the studies is made of: the run, else the store."""
        return self.run if self.run != _RUN or self.store == _STORE else self.store

    def policy(self, name: str) -> str:
        """A policy as ``--policy`` takes it: one of one's own by its file."""
        return shlex.quote(as_given(name, self.files))

    def study(self, name: str) -> str:
        """A folder for a study that the next report shows."""
        return shlex.quote(os.path.normpath(Path(self.studies) / name))

    def beside(self, name: str) -> str:
        """A folder for another replay, beside the run or the store."""
        return shlex.quote(str(Path(self.studies).parent / name))


def paths(
    source: Path,
    store: Path | None,
    run: Path | None,
    *,
    loader: str = "",
    files: Iterable[Mapping[str, str]] = (),
    results: Mapping[str, Path] | None = None,
) -> Paths:
    """The paths of a report of ``source``, as one types them in the working folder.

    They are relative where ``source`` was given so or lies below that folder: then nothing of the
    machine is told, and the report is the same wherever the folder lies. What lies neither below it
    nor beside the source, as a workload may, has its whole path. ``loader`` is the workload
    that the run's manifest names, if it replayed no store; ``files`` are those of one's own
    policies that it notes, ``results`` the folders of results that are there.
    """
    here = Path.cwd()
    relative = not source.is_absolute() or source.is_relative_to(here)
    around = Path(os.path.normpath((run or source).absolute())).parent

    def told(path: Path) -> str:
        if "://" in str(path):
            return str(path)
        whole = Path(os.path.normpath(path.absolute()))
        # what lies elsewhere is found from every folder by its whole path alone
        near = whole.is_relative_to(here) or whole.is_relative_to(around)
        return os.path.relpath(path) if relative and near else str(whole)

    named = shlex.quote(told(store)) if store else _STORE
    workload = _workload(loader, run, told) if run and loader else ""
    return Paths(
        source=shlex.quote(told(source)),
        store=named,
        replayed=f"--workload {shlex.quote(workload)}" if workload else named,
        run=shlex.quote(told(run)) if run else _RUN,
        studies=told(around if around.name == BESIDE else around / BESIDE),
        files=by_name(files, lambda path: told(run / path) if run else path),
        results={kind: shlex.quote(told(path)) for kind, path in (results or {}).items()},
    )


def _workload(loader: str, run: Path, told: Callable[[Path], str]) -> str:
    """A workload as ``--workload`` takes it; a bare path where the loader is found by it."""
    name, given, path = spelled(loader)
    if not path:
        return loader
    shown = told(run / path)
    settings = ",".join(f"{key}={value}" for key, value in given.items())
    return f"{name}{f'[{settings}]' if settings else ''}:{shown}"
