"""Where what a report shows lies, as its commands name it, so that they run as they stand."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.cluster.named import Given
from tracekit.policy.own_files import as_given, by_name


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Paths of commands, not quoted; words in capitals for what is not known.

    Parameters
    ----------
    source, store, run : str
        What the report is made of, its store, and its run's folder.
    workload : str
        What the run replayed in place of a store, as ``--workload`` takes it.
    files : mapping of str to str
        The files of one's own policies, by the policies' names.
    results : mapping of str to str
        The folders of results and studies that are there, by their names.
    """

    source: str = "SOURCE"
    store: str = "STORE"
    run: str = "RUN"
    workload: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)

    def policy(self, name: str) -> str:
        """A policy as ``--policy`` takes it: one of one's own by its file."""
        return as_given(name, self.files)


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

    def named(path: Path) -> str:
        if "://" in str(path):
            return str(path)
        whole = Path(os.path.normpath(path.absolute()))
        # what lies elsewhere is reached from every folder by its whole path alone
        inside = whole.is_relative_to(here) or whole.is_relative_to(around)
        return os.path.relpath(path) if relative and inside else str(whole)

    usual = Paths()
    return Paths(
        source=named(source),
        store=named(store) if store else usual.store,
        run=named(run) if run else usual.run,
        workload=_workload(loader, run, named) if run and loader else "",
        files=by_name(files, lambda path: named(run / path) if run else path),
        results={kind: named(path) for kind, path in (results or {}).items()},
    )


def _workload(loader: str, run: Path, named: Callable[[Path], str]) -> str:
    """A workload as ``--workload`` takes it."""
    return Given.of(loader).spelled(lambda path: named(run / path))
