"""The paths in a report's commands."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.cluster.named import Given
from tracekit.policy.parse import as_given, by_name


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Paths for commands, without quotes; an unknown path is a word in capitals.

    Parameters
    ----------
    source, store, run : str
        The source of the report, its store, and its run folder.
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
        """Return a policy as ``--policy`` takes it; a user's own policy by its file."""
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
    """Return the paths of a report of ``source``, as one types them in the working folder.

    A path is relative if ``source`` is relative or lies below the working folder. The report then
    names nothing else of the machine, and does not depend on the folder's place. Other paths, such
    as that of a workload, are absolute.

    Parameters
    ----------
    loader : the workload in the run's manifest, if it replayed no store
    files : the files of the user's own policies in the manifest
    results : existing folders of results
    """
    here = Path.cwd()
    relative = not source.is_absolute() or source.is_relative_to(here)
    around = Path(os.path.normpath((run or source).absolute())).parent

    def named(path: Path) -> str:
        if "://" in str(path):
            return str(path)
        whole = Path(os.path.normpath(path.absolute()))
        # any other place needs an absolute path
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
